# The loop as printed in the post.
import mytypedmod

def main():
    i = 0
    while i < 10_000_000:
        i = mytypedmod.inc(i)
    return i

if __name__ == "__main__":
    main()
