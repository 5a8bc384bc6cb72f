/**
 * An object before validation: values have the right types, but any field may be missing, even if required.
 * Rules take objects in this form, so that the compiler enforces handling of missing fields.
 */
export type Unchecked<T> = T extends readonly (infer Item)[]
  ? readonly Unchecked<Item>[]
  : T extends object
    ? UncheckedFields<T>
    : T

/** Map values are always present; struct fields may be missing. */
type UncheckedFields<T extends object> = string extends keyof T
  ? { readonly [K in keyof T]: Unchecked<T[K]> }
  : { readonly [K in keyof T]?: Unchecked<T[K]> }
