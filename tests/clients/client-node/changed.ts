/** Another object of the same class, with some fields changed: what the package hands out are instances. */
export function changed<T extends object>(object: T, change: Partial<T>): T {
  return Object.assign(Object.create(Object.getPrototypeOf(object)) as T, object, change)
}
