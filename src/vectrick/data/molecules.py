"""Molecules as SMILES strings: which are valid, which are the same compound, and their scaffolds, through RDKit."""

import re
from functools import lru_cache
from typing import Any

_ISOTOPE = re.compile(r"\[\d+[A-Za-z*]")
_CHARGE = re.compile(r"\[[^\]]*[+-]")
_MAPPED = re.compile(r":\d+\]")  # a number of an atom in a reaction, which is no property of the compound
_NEEDED = "molecules need RDKit, which is not installed: pip install 'vectrick[molecules]'"


def rdkit() -> Any:
    """Return RDKit's module of molecules, which says nothing about invalid ones by itself."""
    try:
        from rdkit import Chem, RDLogger
    except ImportError:
        raise ImportError(_NEEDED) from None
    log: Any = RDLogger
    log.DisableLog("rdApp.*")
    return Chem


def wrong_smiles(text: str) -> str | None:
    """Say what is wrong with a SMILES string, None if nothing is.

    >>> wrong_smiles("CCO"), wrong_smiles("C1CC")
    (None, 'is no molecule')
    """
    if not text.strip():
        return "is empty"
    molecule = rdkit().MolFromSmiles(text.strip())
    return "is no molecule" if molecule is None or not molecule.GetNumAtoms() else None


@lru_cache(8192)  # several fingerprints of a molecule are often made one after another
def molecule(smiles: str, parent: bool = True) -> Any:
    """Return a molecule of RDKit, None for an invalid string.

    With ``parent`` it is what chemists compare: the largest organic fragment, without the counter-ions of a salt and
    without solvent, uncharged where that is possible, without isotopes. Stereochemistry and tautomers stay as given.

    >>> rdkit().MolToSmiles(molecule("[Na+].[O-]C(=O)c1ccccc1")), rdkit().MolToSmiles(molecule("[2H]C([2H])([2H])O"))
    ('O=C(O)c1ccccc1', 'CO')
    """
    Chem = rdkit()
    found = Chem.MolFromSmiles(smiles.strip())
    if found is None or not found.GetNumAtoms():
        return None
    if not parent:
        return found
    if _MAPPED.search(smiles):
        for atom in found.GetAtoms():
            atom.SetAtomMapNum(0)
        found = Chem.RemoveHs(found)  # those that were written for their number
    # Looking at the text first spares nine of ten molecules, and most of the time.
    if _ISOTOPE.search(smiles):
        for atom in found.GetAtoms():
            atom.SetIsotope(0)
        found = Chem.RemoveHs(found)
    if "." in smiles or _CHARGE.search(smiles):
        chooser, neutral = _standards()
        found = neutral.uncharge(chooser.choose(found) if "." in smiles else found)
    return found


_made: tuple[Any, Any] | None = None


def _standards() -> tuple[Any, Any]:
    """Return RDKit's choice of the largest organic fragment, and its neutralisation."""
    global _made
    if _made is None:
        from rdkit.Chem.MolStandardize import rdMolStandardize

        _made = rdMolStandardize.LargestFragmentChooser(preferOrganic=True), rdMolStandardize.Uncharger()
    return _made


def canonical(smiles: str) -> str:
    """Return the canonical SMILES of the parent of a valid molecule: the same for every way to write a compound.

    >>> canonical("OCC") == canonical("CCO.Cl")
    True
    """
    return str(rdkit().MolToSmiles(molecule(smiles)))


def scaffold(smiles: str) -> str:
    """Return the Bemis–Murcko scaffold: rings and what links them, as SMILES; empty for a molecule without rings.

    >>> scaffold("CCc1ccccc1"), scaffold("CCO")
    ('c1ccccc1', '')
    """
    rdkit()
    from rdkit.Chem.Scaffolds import MurckoScaffold

    murcko: Any = MurckoScaffold
    found = molecule(smiles)
    if found is None:
        raise ValueError(f"{smiles!r} is no molecule")
    return str(rdkit().MolToSmiles(murcko.GetScaffoldForMol(found)))
