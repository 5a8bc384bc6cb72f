/** A copy of an object with some fields changed that is still an instance of its class. */
export function changed<T extends object>(object: T, change: Partial<T>): T {
  return Object.assign(Object.create(Object.getPrototypeOf(object)) as T, object, change)
}
