# The signatures for which type checkers know the types of arguments and results. Type checkers cannot parse
# signatures, so resolve() has an overload for each group.
from typing import Literal, SupportsComplex, SupportsFloat, SupportsIndex

from typing_extensions import TypeAlias

# Types that Python converts to float and complex numbers.
FloatLike: TypeAlias = SupportsFloat | SupportsIndex
ComplexLike: TypeAlias = SupportsComplex | SupportsFloat | SupportsIndex

OfFloats: TypeAlias = Literal[
    "->d", "d->d", "dd->d", "ddd->d", "dddd->d", "->f", "f->f", "ff->f", "fff->f", "ffff->f", "->g",
    "g->g", "gg->g", "ggg->g", "gggg->g",
]
OfInts: TypeAlias = Literal[
    "->b", "b->b", "bb->b", "->B", "B->B", "BB->B", "->h", "h->h", "hh->h", "->H", "H->H", "HH->H",
    "->i", "i->i", "ii->i", "->I", "I->I", "II->I", "->l", "l->l", "ll->l", "->L", "L->L", "LL->L",
    "->q", "q->q", "qq->q", "->Q", "Q->Q", "QQ->Q", "->n", "n->n", "nn->n", "->N", "N->N", "NN->N",
]
OfBools: TypeAlias = Literal[
    "->?", "?->?", "??->?",
]
OfComplex: TypeAlias = Literal[
    "Zf->Zf", "Zd->Zd", "Zg->Zg", "ZfZf->Zf", "ZdZd->Zd", "ZgZg->Zg",
]
