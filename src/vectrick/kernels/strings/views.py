"""Views of molecules: fingerprints and descriptors of SMILES strings, computed with RDKit and kept on disk."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from vectrick._progress import Progress
from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.backends.threads import count_threads
from vectrick.data.files.columns import TableWarning
from vectrick.data.strings.molecules import has_odd_valence, molecule, rdkit
from vectrick.kernels.strings.encoded import ROWS
from vectrick.kernels.strings.kept import KeptRows

if TYPE_CHECKING:
    from rdkit import Chem

_AT_ONCE = 200  # molecules of a part, which one process computes
_LONG = 4.0  # seconds of work from which processes share it; starting them takes one or two
_FORMAT = 1  # of rows on disk; increased when the same settings give other features
_SHOWN = 60  # characters of an invalid string

Row = tuple[Array, Array]  # the columns and the values of the nonzero entries


class View(NamedTuple):
    """A kind of features of molecules."""

    n_bits: int  # columns, by default or always
    is_hashed: bool  # whether the number of columns can be chosen
    has_counts: bool
    seconds: float  # of a molecule, about


VIEWS = {
    "morgan": View(2048, True, True, 1.2e-4),
    "path": View(2048, True, True, 6e-4),
    "atom-pair": View(2048, True, True, 2e-4),
    "torsion": View(2048, True, True, 2e-4),
    "maccs": View(167, False, False, 5e-4),
    "avalon": View(1024, True, False, 5e-4),
    "descriptors": View(217, False, False, 4e-3),
}

# The descriptors of RDKit 2026.09 in their order; a version that lacks one has zeros for it.
_NAMES = """
MaxAbsEStateIndex MaxEStateIndex MinAbsEStateIndex MinEStateIndex qed SPS MolWt HeavyAtomMolWt ExactMolWt
NumValenceElectrons NumRadicalElectrons MaxPartialCharge MinPartialCharge MaxAbsPartialCharge MinAbsPartialCharge
FpDensityMorgan1 FpDensityMorgan2 FpDensityMorgan3 BCUT2D_MWHI BCUT2D_MWLOW BCUT2D_CHGHI BCUT2D_CHGLO BCUT2D_LOGPHI
BCUT2D_LOGPLOW BCUT2D_MRHI BCUT2D_MRLOW AvgIpc BalabanJ BertzCT Chi0 Chi0n Chi0v Chi1 Chi1n Chi1v Chi2n Chi2v Chi3n
Chi3v Chi4n Chi4v HallKierAlpha Ipc Kappa1 Kappa2 Kappa3 LabuteASA PEOE_VSA1 PEOE_VSA10 PEOE_VSA11 PEOE_VSA12
PEOE_VSA13 PEOE_VSA14 PEOE_VSA2 PEOE_VSA3 PEOE_VSA4 PEOE_VSA5 PEOE_VSA6 PEOE_VSA7 PEOE_VSA8 PEOE_VSA9 SMR_VSA1
SMR_VSA10 SMR_VSA2 SMR_VSA3 SMR_VSA4 SMR_VSA5 SMR_VSA6 SMR_VSA7 SMR_VSA8 SMR_VSA9 SlogP_VSA1 SlogP_VSA10 SlogP_VSA11
SlogP_VSA12 SlogP_VSA2 SlogP_VSA3 SlogP_VSA4 SlogP_VSA5 SlogP_VSA6 SlogP_VSA7 SlogP_VSA8 SlogP_VSA9 TPSA EState_VSA1
EState_VSA10 EState_VSA11 EState_VSA2 EState_VSA3 EState_VSA4 EState_VSA5 EState_VSA6 EState_VSA7 EState_VSA8
EState_VSA9 VSA_EState1 VSA_EState10 VSA_EState2 VSA_EState3 VSA_EState4 VSA_EState5 VSA_EState6 VSA_EState7
VSA_EState8 VSA_EState9 FractionCSP3 HeavyAtomCount NHOHCount NOCount NumAliphaticCarbocycles
NumAliphaticHeterocycles NumAliphaticRings NumAmideBonds NumAromaticCarbocycles NumAromaticHeterocycles
NumAromaticRings NumAtomStereoCenters NumBridgeheadAtoms NumHAcceptors NumHDonors NumHeteroatoms NumHeterocycles
NumRotatableBonds NumSaturatedCarbocycles NumSaturatedHeterocycles NumSaturatedRings NumSpiroAtoms
NumUnspecifiedAtomStereoCenters Phi RingCount MolLogP MolMR fr_Al_COO fr_Al_OH fr_Al_OH_noTert fr_ArN fr_Ar_COO
fr_Ar_N fr_Ar_NH fr_Ar_OH fr_COO fr_COO2 fr_C_O fr_C_O_noCOO fr_C_S fr_HOCCN fr_Imine fr_NH0 fr_NH1 fr_NH2 fr_N_O
fr_Ndealkylation1 fr_Ndealkylation2 fr_Nhpyrrole fr_SH fr_aldehyde fr_alkyl_carbamate fr_alkyl_halide
fr_allylic_oxid fr_amide fr_amidine fr_aniline fr_aryl_methyl fr_azide fr_azo fr_barbitur fr_benzene
fr_benzodiazepine fr_bicyclic fr_diazo fr_dihydropyridine fr_epoxide fr_ester fr_ether fr_furan fr_guanido
fr_halogen fr_hdrzine fr_hdrzone fr_imidazole fr_imide fr_isocyan fr_isothiocyan fr_ketone fr_ketone_Topliss
fr_lactam fr_lactone fr_methoxy fr_morpholine fr_nitrile fr_nitro fr_nitro_arom fr_nitro_arom_nonortho fr_nitroso
fr_oxazole fr_oxime fr_para_hydroxylation fr_phenol fr_phenol_noOrthoHbond fr_phos_acid fr_phos_ester fr_piperdine
fr_piperzine fr_priamide fr_prisulfonamd fr_pyridine fr_quatN fr_sulfide fr_sulfonamd fr_sulfone fr_term_acetylene
fr_tetrazole fr_thiazole fr_thiocyan fr_thiophene fr_unbrch_alkane fr_urea
"""
DESCRIPTORS = tuple(_NAMES.split())


@dataclass(frozen=True)
class Recipe:
    """A view with its settings; `rows` computes it for a list of SMILES strings, also in another process."""

    view: str
    n_bits: int
    counts: bool = False
    radius: int = 2
    functional: bool = False
    parent: bool = True

    @property
    def kind(self) -> str:
        """The type of its values: "bits", "counts" or "numbers"."""
        return "numbers" if self.view == "descriptors" else "counts" if self.counts else "bits"

    def matrix(self, strings: Sequence[str]) -> csr_array:
        """Return the features of molecules as a sparse matrix; raise if RDKit cannot read one of them."""
        return ROWS.of(self, strings, self.n_bits, self._new)

    def _new(self, strings: list[str]) -> Iterator[Row]:
        """Yield the rows of strings that are not in memory, from disk or computed."""
        version = rdkit().rdBase.rdkitVersion  # raises if RDKit is missing
        kept = KeptRows(f"{_FORMAT} {version} {self}", self.kind, self.n_bits)
        stored = kept.read(strings)
        missing = [string for string in strings if string not in stored]
        made = dict(zip(missing, self._computed(missing), strict=True))
        kept.write(made)
        for string in strings:
            yield stored[string] if string in stored else made[string]

    def _computed(self, strings: list[str]) -> Iterator[Row]:
        """Yield computed rows, in processes if it takes long: RDKit reads one molecule per process at a time."""
        progress, n_jobs = Progress("molecules", len(strings), 0), count_threads(None)
        parts = [strings[low : low + _AT_ONCE] for low in range(0, len(strings), _AT_ONCE)]
        made: Any = (self.rows(part, molecule) for part in parts)
        if len(strings) * VIEWS[self.view].seconds >= _LONG and n_jobs > 1:
            made = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(self.rows)(part) for part in parts)
        odd: list[str] = []
        for part, rows in zip(parts, made, strict=True):
            for string, (row, is_odd) in zip(part, rows, strict=True):
                progress.step("molecules")
                odd += [string] if is_odd else []
                yield row
        _warn_of_odd(odd)

    def rows(
        self, strings: list[str], read: Callable[[str, bool], Any] = molecule.__wrapped__
    ) -> list[tuple[Row, bool]]:
        """Return the row of each molecule, and whether it was read without the check of valences."""
        encode = self._encoder()
        rows = []
        # Some descriptors take eigenvalues of small matrices, for which threads of BLAS only wait for each other.
        with threadpool_limits(1, "blas"):
            for string in strings:
                found = read(string, self.parent)
                if found is None:
                    raise ValueError(
                        f"{string[:_SHOWN]!r} is no molecule: RDKit cannot read this SMILES string; vt.Edges(..., "
                        "invalid='skip') leaves out invalid vertices and their edges"
                    )
                rows.append((encode(found), has_odd_valence(found)))
        return rows

    def _encoder(self) -> "Callable[[Chem.Mol], Row]":
        """Return the function from a molecule to its row."""
        if self.view == "descriptors":
            return _descriptors()
        if self.view == "maccs":
            from rdkit.Chem.rdMolDescriptors import GetMACCSKeysFingerprint

            return lambda found: _bits(GetMACCSKeysFingerprint(found))
        if self.view == "avalon":
            from rdkit.Avalon.pyAvalonTools import GetAvalonFP

            return lambda found: _bits(GetAvalonFP(found, nBits=self.n_bits))
        generator = self._generator()
        if self.counts:
            return lambda found: _counts(generator.GetCountFingerprint(found))
        return lambda found: _bits(generator.GetFingerprint(found))

    def _generator(self) -> Any:
        """Return RDKit's generator of a hashed fingerprint."""
        from rdkit.Chem import rdFingerprintGenerator as made_by  # noqa: N813

        generators: Any = made_by
        if self.view == "morgan":
            invariants = generators.GetMorganFeatureAtomInvGen() if self.functional else None
            return generators.GetMorganGenerator(
                radius=self.radius, fpSize=self.n_bits, atomInvariantsGenerator=invariants
            )
        names = {"path": "RDKitFP", "atom-pair": "AtomPair", "torsion": "TopologicalTorsion"}
        return getattr(generators, f"Get{names[self.view]}Generator")(fpSize=self.n_bits)


def _bits(fingerprint: Any) -> Row:
    places = np.array(fingerprint.GetOnBits(), np.int32)
    return places, np.ones(len(places), np.int32)


def _counts(fingerprint: Any) -> Row:
    places, values = np.array(sorted(fingerprint.GetNonzeroElements().items()), np.int32).reshape(-1, 2).T
    return places, values


def _descriptors() -> "Callable[[Chem.Mol], Row]":
    """Return the function from a molecule to its descriptors on a logarithmic scale: ``sign(x) log(1 + |x|)``."""
    from rdkit.Chem import Descriptors

    known = dict(Descriptors.descList)
    functions = [(place, known[name]) for place, name in enumerate(DESCRIPTORS) if name in known]

    def encode(found: "Chem.Mol") -> Row:
        values = np.zeros(len(DESCRIPTORS))
        for place, function in functions:
            try:
                values[place] = function(found)
            except (ValueError, ZeroDivisionError, RuntimeError):  # not defined for some unusual molecules
                continue
        values[~np.isfinite(values)] = 0.0
        places = np.flatnonzero(values).astype(np.int32)
        return places, np.sign(values[places]) * np.log1p(np.abs(values[places]))

    return encode


_known_odd: set[str] = set()  # molecules with a warning


def _warn_of_odd(strings: list[str]) -> None:
    """Warn once about molecules that were read without the check of valences."""
    new = [string for string in strings if string not in _known_odd]
    if new:
        _known_odd.update(new)
        warn(
            f"{len(new)} molecules have an atom with an unusual valence, such as {new[0][:_SHOWN]!r}; they were read "
            "without the check of valences",
            TableWarning,
        )
