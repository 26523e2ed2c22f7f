/* The C library of the example: descriptors of classes. */
#ifndef EXAMPLES_CLASS_DATA_GREETINGS_H_
#define EXAMPLES_CLASS_DATA_GREETINGS_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct greeting_class {
  const char *name;
  const char *sentence;
} greeting_class;

/// Ends with an entry whose name is NULL.
extern const greeting_class greetings[];

#ifdef __cplusplus
}
#endif
#endif /* EXAMPLES_CLASS_DATA_GREETINGS_H_ */
