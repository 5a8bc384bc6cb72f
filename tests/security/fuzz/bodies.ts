/** Bodies in every format that the server reads: valid objects with mutations. */
import { stringify } from 'yaml'
import { strange, type Draw } from './draw.ts'

export interface Target {
  /** Path of the collection. */
  readonly folder: string
  readonly name: string
  /** A stored object, as returned by the server. */
  readonly json: string
  readonly protobuf: Uint8Array
}

export interface DrawnBody {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

const json = 'application/json'
const yaml = 'application/yaml'
const protobuf = 'application/vnd.kubernetes.protobuf'
const operations = 'application/json-patch+json'
const patches = [
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]
const otherTypes = [
  '',
  'text/plain',
  'application/json; charset=utf-16',
  'application/json;;',
  'multipart/form-data',
  'application/cbor',
  '*/*',
]

/** All requests are dry runs. */
export function drawBody(draw: Draw, targets: readonly Target[]): DrawnBody {
  const { folder, name, ...target } = draw.one(targets)
  const kind = draw.integer(10)
  const options = draw.one([
    '',
    '&fieldValidation=Strict',
    '&fieldValidation=Ignore',
    '&fieldManager=fuzz',
    '&fieldManager=fuzz&force=true',
  ])
  const query = `?dryRun=All${options}`
  const made = (method: string, path: string, type: string, body: Uint8Array | string): DrawnBody => ({
    method,
    url: `${path}${query}`,
    headers: type === '' ? {} : { 'content-type': type },
    body: typeof body === 'string' ? Buffer.from(body) : body,
  })
  const [method, path] = draw.oneIn(2) ? (['POST', folder] as const) : (['PUT', `${folder}/${name}`] as const)
  switch (kind) {
    case 0:
    case 1:
    case 2: {
      const object = mutateValue(draw, JSON.parse(target.json))
      const type = draw.one([json, yaml])
      return made(method, path, type, type === json ? JSON.stringify(object) : stringify(object))
    }
    case 3:
      return made(method, path, draw.one([json, yaml]), draw.mutate(target.json))
    case 4:
      return made(method, path, protobuf, draw.mutateBytes(target.protobuf))
    case 5:
      return made(
        method,
        path,
        draw.one([json, yaml, protobuf, ...otherTypes]),
        draw.one([target.protobuf, draw.bytes(draw.integer(300)), Buffer.from(target.json)]),
      )
    case 6:
      return made('DELETE', `${folder}/${name}`, json, deleteOptions(draw))
    default: {
      const url = draw.oneIn(4) ? `${folder}/${name}/status` : `${folder}/${name}`
      const types = draw.oneIn(20)
        ? [...patches, operations, ...otherTypes]
        : kind === 7
          ? [operations]
          : patches
      return made('PATCH', url, draw.one(types), kind === 7 ? drawOperations(draw) : patch(draw, target.json))
    }
  }
}

function deleteOptions(draw: Draw): string {
  const value = {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds: 0,
    propagationPolicy: 'Orphan',
    preconditions: { uid: 'x' },
    dryRun: ['All'],
  }
  return JSON.stringify(mutateValue(draw, value))
}

const pointers = [
  '/metadata',
  '/metadata/labels',
  '/spec',
  '/spec/containers/0',
  '/spec/containers/-',
  '/data/a~1b',
  '',
  '/',
  '/~2',
  '/kind',
  '/metadata/annotations/mark',
  '/metadata/__proto__/x',
  '/spec/containers/99999999999',
  '/spec/containers/-1',
  '/rules/0/verbs',
]

function drawOperations(draw: Draw): string {
  const operation = (): object => ({
    op: draw.one(['add', 'remove', 'replace', 'move', 'copy', 'test', 'merge', '__proto__']),
    path: draw.oneIn(5) ? draw.one(strange) : draw.one(pointers),
    from: draw.one(pointers),
    value: draw.one<unknown>([null, {}, [], 'x', 1, { a: { b: [1] } }]),
  })
  const all = Array.from({ length: 1 + draw.integer(4) }, operation)
  return draw.oneIn(10) ? draw.mutate(JSON.stringify(all)) : JSON.stringify(all)
}

function patch(draw: Draw, text: string): string {
  const value = JSON.parse(text) as Record<string, unknown>
  const part = draw.oneIn(2) ? value : { [draw.one(Object.keys(value))]: value[draw.one(Object.keys(value))] }
  const directives = !draw.oneIn(5)
    ? {}
    : {
        [draw.one([
          '$patch',
          '$retainKeys',
          '$setElementOrder/containers',
          '$deleteFromPrimitiveList/finalizers',
        ])]: draw.one<unknown>(['replace', 'delete', 'merge', ['a'], [{ name: 'a' }], {}, null, 7]),
      }
  const changed = { ...(mutateValue(draw, part) as object), ...directives }
  return draw.oneIn(8) ? draw.mutate(JSON.stringify(changed)) : JSON.stringify(changed)
}

const scalars: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e21,
  2 ** 53,
  -(2 ** 31) - 1,
  '',
  'x',
  'A',
  [],
  {},
  [null],
  [[]],
  [{}],
  { a: 'b' },
  ...strange,
]

/** Changes some values at random places. */
function mutateValue(draw: Draw, value: unknown): unknown {
  let changed = value
  for (let times = 1 + draw.integer(4); times > 0; times--) changed = changeOnce(draw, changed, 0)
  return changed
}

/** Probability of replacement by depth, as one in N. */
const replacedOneIn = [200, 30, 8]

function changeOnce(draw: Draw, value: unknown, depth: number): unknown {
  const isEmpty = typeof value !== 'object' || value === null || Object.keys(value).length === 0
  // Most mutations should be deep inside: errors near the root are rejected early.
  if (isEmpty || draw.oneIn(replacedOneIn[depth] ?? 5))
    return draw.oneIn(20) ? nest(draw, value) : replacement(draw, value)
  if (Array.isArray(value)) {
    const list = [...(value as unknown[])]
    const index = draw.integer(list.length)
    if (draw.oneIn(8)) return [...list, ...list]
    list[index] = changeOnce(draw, list[index], depth + 1)
    return list
  }
  const entries = Object.entries(value)
  const index = draw.integer(entries.length)
  const [key, inner] = entries[index]!
  switch (draw.integer(depth === 0 ? 60 : 8)) {
    case 0:
      entries.splice(index, 1)
      break
    case 1:
      entries.push([draw.one(strange), inner])
      break
    case 2:
      entries[index] = [draw.mutate(key), inner]
      break
    default:
      entries[index] = [key, changeOnce(draw, inner, depth + 1)]
  }
  return Object.fromEntries(entries)
}

const numbers = [0, -1, 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 65_536, 1e21, 1.5]
const texts = [
  '',
  'x',
  'A',
  'None',
  'NodePort',
  'ExternalName',
  '1Gi',
  '-1',
  '10.0.0.1',
  '::1',
  'Always',
  'DoesNotExist',
  ...strange,
]

/** Mostly of the same type, so that validation and admission are reached. */
function replacement(draw: Draw, value: unknown): unknown {
  if (draw.oneIn(4)) return draw.one(scalars)
  if (typeof value === 'string') return draw.oneIn(3) ? draw.mutate(value) : draw.one(texts)
  if (typeof value === 'number') return draw.one(numbers)
  if (typeof value === 'boolean') return !value
  return Array.isArray(value) ? [] : {}
}

function nest(draw: Draw, value: unknown): unknown {
  let nested = value
  for (let depth = draw.integer(200); depth > 0; depth--) nested = draw.oneIn(2) ? [nested] : { a: nested }
  return nested
}
