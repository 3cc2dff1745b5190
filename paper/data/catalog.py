"""What is known about each public set: a table, and nothing else.

The digests are those of the canonical CSV text (docs/data.md), not of a compressed file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Layout = Literal["text", "readings", "molecules", "workbook"]


@dataclass(frozen=True)
class Archive:
    """A set's place in the UCI archive, and the form it has there.

    Attributes
    ----------
    path : str
        Number and name of the set in the archive's addresses.
    members : tuple of str
        The files of the zip that hold the samples, in the order of the samples.
    layout : str
        The reader in `archive.py` that understands the members.
    separator : str or None
        Of the fields; None is any run of blanks.
    start : str
        The samples begin after this line; empty when there is no such line.
    missing : str
        How a missing value is written.
    """

    path: str
    members: tuple[str, ...]
    layout: Layout = "text"
    separator: str | None = ","
    start: str = ""
    missing: str = ""


@dataclass(frozen=True)
class UciSet:
    """The facts about one set.

    Attributes
    ----------
    name, title : str
        The name here, and the archive's own.
    archive : Archive
    columns : tuple of str
        Of the canonical file, before the last one, `target`.
    negative, positive : tuple of str
        Label in the source and its meaning, for y = -1 and y = +1.
    n_rows : int
        Before rows with missing values are dropped.
    counts : tuple of int
        Number of complete rows with y = -1 and with y = +1.
    sha256 : str
        Of the canonical file's text.
    paper_shape : tuple of int
        Samples and attributes as the paper prints them.
    categories : mapping of str to tuple of str
        The levels of the columns that hold letters.
    deviation : str
        Why the paper's numbers differ from those here.
    """

    name: str
    title: str
    archive: Archive
    columns: tuple[str, ...]
    negative: tuple[str, str]
    positive: tuple[str, str]
    n_rows: int
    counts: tuple[int, int]
    sha256: str
    paper_shape: tuple[int, int]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deviation: str = "None."

    @property
    def file_name(self) -> str:
        """The set's file in a data home."""
        return f"{self.name}.csv.gz"

    @property
    def n_features(self) -> int:
        """Columns of X: identifiers left out, a column of letters counted once per level."""
        n_columns = sum(not name.startswith("id_") for name in self.columns)
        return n_columns + sum(len(levels) - 1 for levels in self.categories.values())

    @property
    def page(self) -> str:
        """The set's page in the archive."""
        return f"https://archive.ics.uci.edu/dataset/{self.archive.path}"

    @property
    def header(self) -> tuple[str, ...]:
        """All columns of the canonical file."""
        return (*self.columns, "target")


HEART = UciSet(
    name="heart",
    title="Statlog (Heart)",
    archive=Archive("145/statlog+heart", ("heart.dat",), separator=None),
    columns=(
        *("age", "sex", "chest_pain_type", "resting_blood_pressure", "serum_cholesterol"),
        *("fasting_blood_sugar", "resting_ecg", "max_heart_rate", "exercise_angina"),
        *("oldpeak", "st_slope", "major_vessels", "thal"),
    ),
    negative=("1", "absence of heart disease"),
    positive=("2", "presence of heart disease"),
    n_rows=270,
    counts=(150, 120),
    sha256="ef19b25de4581350192c6f456c34b25c1ba5a0fecc2f758c70df31d784d539dc",
    paper_shape=(270, 14),
    deviation="The source has 13 attributes; 14 counts the label.",
)

BREAST_CANCER = UciSet(
    name="breast_cancer",
    title="Breast Cancer Wisconsin (Original)",
    archive=Archive(
        "15/breast+cancer+wisconsin+original", ("breast-cancer-wisconsin.data",), missing="?"
    ),
    columns=(
        *("id_sample_code", "clump_thickness", "uniformity_cell_size", "uniformity_cell_shape"),
        *("marginal_adhesion", "single_epithelial_cell_size", "bare_nuclei", "bland_chromatin"),
        *("normal_nucleoli", "mitoses"),
    ),
    negative=("2", "benign"),
    positive=("4", "malignant"),
    n_rows=699,
    counts=(444, 239),
    sha256="73a03693f083317d4fbce0f6ba2e6eaa0a4a4f5661b3dd9ea4aa7a098141ee2a",
    paper_shape=(683, 9),
)

BIODEG = UciSet(
    name="biodeg",
    title="QSAR biodegradation",
    archive=Archive("254/qsar+biodegradation", ("biodeg.csv",), separator=";"),
    columns=(
        *("SpMax_L", "J_Dz(e)", "nHM", "F01[N-N]", "F04[C-N]", "NssssC", "nCb-", "C%", "nCp"),
        *("nO", "F03[C-N]", "SdssC", "HyWi_B(m)", "LOC", "SM6_L", "F03[C-O]", "Me", "Mi"),
        *("nN-N", "nArNO2", "nCRX3", "SpPosA_B(p)", "nCIR", "B01[C-Br]", "B03[C-Cl]", "N-073"),
        *("SpMax_A", "Psi_i_1d", "B04[C-Br]", "SdO", "TI2_L", "nCrt", "C-026", "F02[C-N]"),
        *("nHDon", "SpMax_B(m)", "Psi_i_A", "nN", "SM6_B(m)", "nArCOOR", "nX"),
    ),
    negative=("NRB", "not readily biodegradable"),
    positive=("RB", "readily biodegradable"),
    n_rows=1055,
    counts=(699, 356),
    sha256="84c76495a7faa3290b197fb4bbd57a4f9ca3a6e34c84e6976b777577c28c4f30",
    paper_shape=(783, 42),
    deviation=(
        "The source has 1055 rows and 41 attributes; 42 counts the label. "
        "The paper does not say which 783 rows it took, so all are kept."
    ),
)

BANKNOTE = UciSet(
    name="banknote_authentication",
    title="banknote authentication",
    archive=Archive("267/banknote+authentication", ("data_banknote_authentication.txt",)),
    columns=("variance", "skewness", "curtosis", "entropy"),
    negative=("0", "genuine"),
    positive=("1", "forged"),
    n_rows=1372,
    counts=(762, 610),
    sha256="e3ef550df6caf6da3f237c79105d6f53dd765e94954d1a2e4d56bd24e9263901",
    paper_shape=(1372, 4),
    deviation=(
        "None in size. The source does not say which of its classes 0 and 1 is the forged one; "
        "1 is the usual reading."
    ),
)

SEISMIC = UciSet(
    name="seismic_bumps",
    title="seismic-bumps",
    archive=Archive("266/seismic+bumps", ("seismic-bumps.arff",), start="@data"),
    columns=(
        *("seismic", "seismoacoustic", "shift", "genergy", "gpuls", "gdenergy", "gdpuls"),
        *("ghazard", "nbumps", "nbumps2", "nbumps3", "nbumps4", "nbumps5", "nbumps6", "nbumps7"),
        *("nbumps89", "energy", "maxenergy"),
    ),
    negative=("0", "not hazardous"),
    positive=("1", "hazardous"),
    n_rows=2584,
    counts=(2414, 170),
    sha256="aec3907b75bc82bd3c60f1d092bbe767aa48ed3be6acc0fd69dc8692e4fcc7f8",
    paper_shape=(2584, 18),
    categories={
        "seismic": ("a", "b"),
        "seismoacoustic": ("a", "b", "c"),
        "shift": ("N", "W"),
        "ghazard": ("a", "b", "c"),
    },
    deviation=(
        "Four of the 18 attributes are letters and become one 0/1 column for each level that "
        "occurs, which makes 24. The paper does not say how it coded them. "
        "nbumps6, nbumps7 and nbumps89 are 0 in every row of the source."
    ),
)

MUSK2 = UciSet(
    name="musk2",
    title="Musk (Version 2)",
    archive=Archive("75/musk+version+2", ("clean2.data.Z",), layout="molecules"),
    columns=("id_molecule", *(f"f{number}" for number in range(1, 167))),
    negative=("0", "non-musk"),
    positive=("1", "musk"),
    n_rows=6598,
    counts=(5581, 1017),
    sha256="a3318a2ee1789bb29c5531cacf3bcc1eaaf92dc00767dfb4f625577b83b15a7d",
    paper_shape=(6598, 166),
    deviation=(
        "None in size. The rows are conformations of 102 molecules, numbered in "
        "groups['id_molecule'] in the order of the source: a split that ignores them puts the "
        "same molecule on both sides."
    ),
)

HTRU2 = UciSet(
    name="HTRU2",
    title="HTRU2",
    archive=Archive("372/htru2", ("HTRU_2.csv",)),
    columns=(
        *("ip_mean", "ip_std", "ip_kurtosis", "ip_skewness"),
        *("dmsnr_mean", "dmsnr_std", "dmsnr_kurtosis", "dmsnr_skewness"),
    ),
    negative=("0", "noise or interference"),
    positive=("1", "pulsar"),
    n_rows=17898,
    counts=(16259, 1639),
    sha256="0f590b8386bf93308062910839e4aaa214c42457d1f9386e91dfd8b25b03fff1",
    paper_shape=(17898, 8),
)

MAGIC = UciSet(
    name="magic_gamma_telescope",
    title="MAGIC Gamma Telescope",
    archive=Archive("159/magic+gamma+telescope", ("magic04.data",)),
    columns=(
        *("fLength", "fWidth", "fSize", "fConc", "fConc1"),
        *("fAsym", "fM3Long", "fM3Trans", "fAlpha", "fDist"),
    ),
    negative=("h", "hadron, the background"),
    positive=("g", "gamma, the signal"),
    n_rows=19020,
    counts=(6688, 12332),
    sha256="aac527ac143802b4818274e241f894cb9f4d35040b4abd14454239cea4ee1930",
    paper_shape=(19020, 10),
)

OCCUPANCY = UciSet(
    name="occupancy_detection",
    title="Occupancy Detection",
    archive=Archive(
        "357/occupancy+detection",
        ("datatraining.txt", "datatest.txt", "datatest2.txt"),
        layout="readings",
    ),
    columns=(
        *("id_file", "id_date"),
        *("Temperature", "Humidity", "Light", "CO2", "HumidityRatio"),
    ),
    negative=("0", "empty room"),
    positive=("1", "occupied room"),
    n_rows=20560,
    counts=(15810, 4750),
    sha256="5ed630791833363f4e0f0e78b0eebecb8a6206a12dd84a2c4c2662de19c0fb32",
    paper_shape=(20560, 5),
    deviation=(
        "None in size: the source's three files one after the other. Neighbouring rows are one "
        "minute apart, so a random split puts near-copies on both sides."
    ),
)

DEFAULT = UciSet(
    name="default_credit_card_clients",
    title="default of credit card clients",
    archive=Archive(
        "350/default+of+credit+card+clients",
        ("default of credit card clients.xls",),
        layout="workbook",
    ),
    columns=(
        *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
        *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
        *(f"BILL_AMT{month}" for month in range(1, 7)),
        *(f"PAY_AMT{month}" for month in range(1, 7)),
    ),
    negative=("0", "paid"),
    positive=("1", "defaulted"),
    n_rows=30000,
    counts=(23364, 6636),
    sha256="6d6935d34852035a1cbc01019f583816d8db829113284653f5f6f4e2879eb0bd",
    paper_shape=(30000, 24),
    deviation=(
        "The source has 23 attributes; 24 counts the label or the running number. "
        "SEX, EDUCATION and MARRIAGE are numbers in the source and stay numbers."
    ),
)

SKIN = UciSet(
    name="Skin_NonSkin",
    title="Skin Segmentation",
    archive=Archive("229/skin+segmentation", ("Skin_NonSkin.txt",), separator="\t"),
    columns=("B", "G", "R"),
    negative=("2", "not skin"),
    positive=("1", "skin"),
    n_rows=245057,
    counts=(194198, 50859),
    sha256="6d3c5c3c590ffebf465bbc219c9cabd28404c42ec22141d345c7bf6a740fb176",
    paper_shape=(245057, 3),
)

UCI_SETS: Mapping[str, UciSet] = {
    facts.name: facts
    for facts in (
        *(HEART, BREAST_CANCER, BIODEG, BANKNOTE, SEISMIC, MUSK2),
        *(HTRU2, MAGIC, OCCUPANCY, DEFAULT, SKIN),
    )
}
