// Records which owners keep which rows published.
#ifndef TYPEDCALL_CORE_RENDEZVOUS_OWNERSHIP_H_
#define TYPEDCALL_CORE_RENDEZVOUS_OWNERSHIP_H_

#include "core/rendezvous/interpreter_state.h"

// Links an owner and a row. Each link is in its owner's list and in its row's list.
typedef struct PyTC_Ownership {
  struct PyTC_Owner *owner;
  PyTC_Row *row;
  // Doubly linked, because a row may have thousands of owners, and an owner thousands of rows.
  struct PyTC_Ownership *next_of_owner, *next_of_row;
  struct PyTC_Ownership **from_of_owner, **from_of_row;  // the two pointers to this link
} PyTC_Ownership;

typedef struct PyTC_Owner {
  PyTC_State *state;
  PyObject *key;        // key in `owners`, stored because removal must not need memory
  PyObject *reference;  // a weak reference, or the owner itself if it cannot have one, or
                        // NULL once the record is no longer in `owners`
  int is_kept;          // true if `reference` is the owner, which then owns only its row BY_OBJECT
  PyTC_Ownership *owned;
} PyTC_Owner;

// Links an owner and a row. Returns 0, or -1 with no exception set if memory runs out.
static inline int PyTC_AddOwner(PyTC_Owner *owner, PyTC_Row *row) {
  // Walks both lists at once, to the end of the shorter one.
  const PyTC_Ownership *of_row = row->owned_by, *of_owner = owner->owned;
  while (of_row != NULL && of_owner != NULL) {
    if (of_row->owner == owner || of_owner->row == row) return 0;
    of_row = of_row->next_of_row;
    of_owner = of_owner->next_of_owner;
  }
  PyTC_Ownership *made = (PyTC_Ownership *)PyTypedcall_RAW_CALLOC(1, sizeof(*made));
  if (made == NULL) return -1;
  made->owner = owner;
  made->row = row;
  made->next_of_owner = owner->owned;
  made->from_of_owner = &owner->owned;
  if (owner->owned != NULL) owner->owned->from_of_owner = &made->next_of_owner;
  owner->owned = made;
  // Append it, so that the owner that published the value stays first.
  made->from_of_row = row->owned_by != NULL ? row->owned_by_end : &row->owned_by;
  *made->from_of_row = made;
  row->owned_by_end = &made->next_of_row;
  return 0;
}

static inline void PyTC_Disown(PyTC_Ownership *ended) {
  *ended->from_of_owner = ended->next_of_owner;
  if (ended->next_of_owner != NULL) ended->next_of_owner->from_of_owner = ended->from_of_owner;
  *ended->from_of_row = ended->next_of_row;
  if (ended->next_of_row != NULL) {
    ended->next_of_row->from_of_row = ended->from_of_row;
  } else {
    ended->row->owned_by_end = ended->from_of_row;
  }
  ++ended->row->left;
  PyTypedcall_RAW_FREE(ended);
}

static inline void PyTC_DisownAll(PyTC_Owner *owner) {
  while (owner->owned != NULL) PyTC_Disown(owner->owned);
}

static inline void PyTC_DisownRow(PyTC_Row *row) {
  while (row->owned_by != NULL) PyTC_Disown(row->owned_by);
}

#endif  // TYPEDCALL_CORE_RENDEZVOUS_OWNERSHIP_H_
