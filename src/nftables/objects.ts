/**
 * The objects of a table. The content of a chain is its rules, one per line; that of a set is its type and flags;
 * that of an element is its verdict, empty in a set.
 */
export type ObjectType = 'chain' | 'set' | 'element'

export interface ObjectName {
  readonly type: ObjectType
  /** Name of the chain, the set, or the element's set or map. */
  readonly name: string
  /** Key of an element: `10.96.0.1 . tcp . 443`. */
  readonly key: string
}

export function objectId(type: ObjectType, name: string, key = ''): string {
  return `${type}\t${name}\t${key}`
}

export function parseObjectId(id: string): ObjectName {
  const [type = '', name = '', key = ''] = id.split('\t')
  return { type: type as ObjectType, name, key }
}
