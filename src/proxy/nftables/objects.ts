/** The things in a table. A chain holds its rules, a line each; an element what its key leads to; a set its clients. */
export type ObjectType = 'chain' | 'set' | 'element'

export interface ObjectName {
  readonly type: ObjectType
  /** Of the chain, the set, or the map that the element is in. */
  readonly name: string
  /** Of an element: `10.96.0.1 . tcp . 443`. */
  readonly key: string
}

export function objectId(type: ObjectType, name: string, key = ''): string {
  return `${type}\t${name}\t${key}`
}

export function parseObjectId(id: string): ObjectName {
  const [type = '', name = '', key = ''] = id.split('\t')
  return { type: type as ObjectType, name, key }
}
