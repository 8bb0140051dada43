"""Molecules as SMILES strings: validity, canonical form and scaffolds, computed with RDKit."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdkit import Chem


_ISOTOPE = re.compile(r"\[\d+[A-Za-z*]")
_CHARGE = re.compile(r"\[[^\]]*[+-]")
_MAPPED = re.compile(r":\d+\]")  # the number of an atom in a reaction, not a property of the compound
_MANY_FRAGMENTS = 32  # RDKit's time to choose the largest fragment grows with the square of their number
_ODD = "vectrick_odd_valence"
_NEEDED = "molecules require RDKit, but it is not installed: pip install 'vectrick[molecules]'"


def rdkit() -> Any:
    """Return RDKit's module of molecules, with its own log messages disabled."""
    try:
        from rdkit import Chem, RDLogger
    except ImportError:
        raise ImportError(_NEEDED) from None
    log: Any = RDLogger
    log.DisableLog("rdApp.*")
    return Chem


def wrong_smiles(text: str) -> str | None:
    """Return the reason why a SMILES string is invalid; None if it is valid.

    >>> wrong_smiles("CCO"), wrong_smiles("C1CC")
    (None, 'is no molecule')
    """
    if not text.strip():
        return "is empty"
    return "is no molecule" if _parsed(text)[0] is None else None


def _parsed(smiles: str) -> tuple[Any, bool]:
    """Return a molecule of RDKit (None for an invalid string), and whether an atom has an unusual valence.

    Molecules with unusual valences are common in databases of structures, so they are read without this check.

    >>> _parsed("CCO")[1], _parsed("CP(C)(C)(C)(C)(C)C")[1]
    (False, True)
    """
    Chem = rdkit()
    found = Chem.MolFromSmiles(smiles.strip())
    is_odd = found is None
    if is_odd:
        found = _settled(Chem.MolFromSmiles(smiles.strip(), sanitize=False))
    return (found, is_odd) if found is not None and found.GetNumAtoms() else (None, False)


def _settled(found: "Chem.Mol") -> Any:
    """Return a molecule sanitized without the check of valences; None if that fails."""
    if found is None:
        return None
    Chem = rdkit()
    found.UpdatePropertyCache(strict=False)
    steps = Chem.SanitizeFlags.SANITIZE_ALL ^ Chem.SanitizeFlags.SANITIZE_PROPERTIES
    if Chem.SanitizeMol(found, steps, catchErrors=True) != Chem.SanitizeFlags.SANITIZE_NONE:
        return None
    Chem.AssignStereochemistry(found, cleanIt=True)
    return found


@lru_cache(8192)  # several fingerprints of a molecule are often computed in a row
def molecule(smiles: str, parent: bool = True) -> Any:
    """Return a molecule of RDKit, or None for an invalid string.

    With ``parent``, it is the parent compound: the largest organic fragment, without the counter-ions of a salt and
    without solvent, uncharged if possible, and without isotopes. Stereochemistry and tautomers are unchanged.

    >>> rdkit().MolToSmiles(molecule("[Na+].[O-]C(=O)c1ccccc1")), rdkit().MolToSmiles(molecule("[2H]C([2H])([2H])O"))
    ('O=C(O)c1ccccc1', 'CO')
    """
    found, is_odd = _parsed(smiles)
    if found is not None and parent:
        found = _parent(found, smiles, is_odd)
    if is_odd:
        found.SetBoolProp(_ODD, True)
    return found


def has_odd_valence(found: "Chem.Mol") -> bool:
    """Return whether a molecule was read without the check of valences.

    >>> has_odd_valence(molecule("CCO")), has_odd_valence(molecule("CP(C)(C)(C)(C)(C)C"))
    (False, True)
    """
    return bool(found.HasProp(_ODD))


def _parent(found: "Chem.Mol", smiles: str, is_odd: bool) -> Any:
    """Return the parent of a molecule; its string shows the necessary steps (none for nine of ten molecules)."""
    Chem = rdkit()
    if is_odd or smiles.count(".") >= _MANY_FRAGMENTS:
        found = _of_largest(found, smiles.strip(), 1 if is_odd else _MANY_FRAGMENTS)
    is_mapped, has_isotopes = _MAPPED.search(smiles) is not None, _ISOTOPE.search(smiles) is not None
    if is_mapped or has_isotopes:
        for atom in found.GetAtoms():
            atom.SetAtomMapNum(0)
            atom.SetIsotope(0)
        # Hydrogens that were explicit because of their number or mass can be removed now.
        found = _settled(Chem.RemoveHs(found, sanitize=False)) if is_odd else Chem.RemoveHs(found)
    if "." in smiles or _CHARGE.search(smiles):
        chooser, neutral = _standards()
        found = neutral.uncharge(chooser.choose(found) if "." in smiles and not is_odd else found)
    return found


def _of_largest(found: "Chem.Mol", smiles: str, most: int) -> Any:
    """Return a mixture of at most ``most`` different fragments, the largest organic ones of a mixture."""
    fragments, parts = rdkit().GetMolFrags(found), smiles.split(".")
    if len(parts) != len(fragments):  # a ring number joins some parts
        return found
    atoms = list(found.GetAtoms())

    def size(fragment: tuple[int, ...]) -> tuple[bool, int, float]:
        own = [atoms[place] for place in fragment]
        n_atoms = sum(1 + atom.GetTotalNumHs() for atom in own)
        mass = sum(atom.GetMass() for atom in own)
        return any(atom.GetAtomicNum() == 6 for atom in own), n_atoms, round(mass, 3)

    sizes = [size(fragment) for fragment in fragments]
    largest = max(sizes)
    kept = dict.fromkeys(part for part, each in zip(parts, sizes, strict=True) if each == largest)
    return _parsed(".".join(sorted(kept)[:most]))[0]


_made: tuple[Any, Any] | None = None


def _standards() -> tuple[Any, Any]:
    """Return RDKit's chooser of the largest organic fragment, and its neutralizer."""
    global _made
    if _made is None:
        from rdkit.Chem.MolStandardize import rdMolStandardize

        _made = rdMolStandardize.LargestFragmentChooser(preferOrganic=True), rdMolStandardize.Uncharger()
    return _made


def canonical(smiles: str) -> str:
    """Return the canonical SMILES of the parent of a valid molecule; equal for all notations of a compound.

    >>> canonical("OCC") == canonical("CCO.Cl")
    True
    """
    return str(rdkit().MolToSmiles(molecule(smiles)))


def scaffold(smiles: str) -> str:
    """Return the Bemis–Murcko scaffold (rings and their linkers) as SMILES; empty for a molecule without rings.

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
