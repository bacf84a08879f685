"""Too little memory, however it is said: one sentence, even where nothing else can start."""

from labelwise.errors import LabelwiseError

try:
    import resource
except ImportError:  # Windows, which has no such limits
    resource = None

ADDRESSES = 3 << 30  # bytes that JAX reserves on two cores (2.8 GB), most of them never used

# How libraries that know no MemoryError say it.
SIGNS = ("RESOURCE_EXHAUSTED", "ut of memory", "annot allocate memory", "bad_alloc")
SIGNS += ("failed to map segment", "can't start new thread", "malloc of size")


def out_of_memory(error: BaseException) -> LabelwiseError | None:
    """What to say of an error that is for lack of memory; None of any other."""
    told = f"{type(error).__name__}: {error}"
    if not isinstance(error, MemoryError) and not any(sign in told for sign in SIGNS):
        return None
    return LabelwiseError(
        "There is not enough memory",
        "nothing was changed; give it more, or take fewer rows or a smaller belief",
    )


def check_room() -> None:
    """Refuse to start JAX under a limit of addresses that it would break.

    Its libraries end the whole process then, in words of their own.
    """
    if resource is None:
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or limit >= ADDRESSES:
        return
    raise LabelwiseError(
        f"There is not enough memory: only {limit >> 20} MB of addresses are allowed",
        f"nothing was changed; allow {ADDRESSES >> 30} GB (`ulimit -v {ADDRESSES >> 10}`), of "
        "which most will not be used",
    )
