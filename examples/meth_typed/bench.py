# The loop from the post, without its print() of the result. Reproduced for comparison (see NOTICE).
import mytypedmod

def main():
    i = 0
    while i < 10_000_000:
        i = mytypedmod.inc(i)
    return i

if __name__ == "__main__":
    main()
