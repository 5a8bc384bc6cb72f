/**
 * An object before validation: what is there has the right type, but nothing need be there, required or not.
 * Rules take their objects in this form, so that the compiler sees to it that an empty object is refused and
 * does not crash.
 */
export type Unchecked<T> = T extends readonly (infer Item)[]
  ? readonly Unchecked<Item>[]
  : T extends object
    ? UncheckedFields<T>
    : T

/** Keys of a map have values; fields of a struct may be missing. */
type UncheckedFields<T extends object> = string extends keyof T
  ? { readonly [K in keyof T]: Unchecked<T[K]> }
  : { readonly [K in keyof T]?: Unchecked<T[K]> }
