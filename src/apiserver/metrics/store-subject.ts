import { defaultResources } from '#/api/builtin.ts'
import { prefixOf } from '../registry/store-keys.ts'

/** The resource of a key in the store, as the labels of metrics name it. */
export interface StoreSubject {
  readonly group: string
  readonly resource: string
}

/**
 * Values by resource for keys such as `/registry/pods/default/web` and `/registry/example.com/things/default/a`.
 * Finding the value of a key builds one string.
 */
export class BySubject<T> {
  readonly #make: (subject: StoreSubject) => T
  readonly #values = new Map<string, T>()

  constructor(make: (subject: StoreSubject) => T) {
    this.#make = make
  }

  of(key: string): T {
    const prefix = resourcePrefixOf(key)
    let value = this.#values.get(prefix)
    if (value === undefined) {
      value = this.#make(subjectOf(prefix))
      if (this.#values.size < prefixesMax) this.#values.set(prefix, value)
    }
    return value
  }
}

/** Past the bound, values are made again. */
const prefixesMax = 10_000

/** `/registry/RESOURCE/`, `/registry/GROUP/RESOURCE/` or `/registry/services/RESOURCE/`. */
function resourcePrefixOf(key: string): string {
  const first = key.indexOf('/', root.length)
  if (first === -1) return key
  const folder = key.slice(root.length, first)
  if (folder !== 'services' && !folder.includes('.')) return key.slice(0, first + 1)
  const second = key.indexOf('/', first + 1)
  return second === -1 ? key : key.slice(0, second + 1)
}

const root = '/registry/'

let builtin: ReadonlyMap<string, StoreSubject> | undefined

function subjectOf(prefix: string): StoreSubject {
  builtin ??= new Map(
    defaultResources().map(resource => {
      return [prefixOf(resource, ''), { group: resource.storage.group, resource: resource.plural }]
    }),
  )
  const known = builtin.get(prefix)
  if (known) return known
  const [, , first = '', second = ''] = prefix.split('/', 4)
  return first.includes('.') ? { group: first, resource: second } : { group: '', resource: first }
}
