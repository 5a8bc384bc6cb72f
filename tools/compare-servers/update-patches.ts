/** Merge patches that change one field of an object, for the rules about updates. Pure and in a fixed order. */
import type { Body } from './request.ts'

export interface UpdatePatch {
  /** `spec.replicas changed`. */
  readonly about: string
  readonly patch: Body
}

export function updatePatches(body: Body): readonly UpdatePatch[] {
  return Object.entries(body)
    .filter(([name]) => name !== 'apiVersion' && name !== 'kind' && name !== 'metadata')
    .flatMap(([name, value]) => within([name], value))
}

function within(path: readonly string[], value: unknown): readonly UpdatePatch[] {
  const place = path.join('.')
  const set = (what: string, changed: unknown): UpdatePatch => ({
    about: `${place} ${what}`,
    patch: nested(path, changed),
  })
  const removal = set('removed', null)
  if (Array.isArray(value)) {
    const [first, ...rest] = value as readonly unknown[]
    if (first === undefined) return [removal]
    // A merge patch replaces whole lists.
    const changes = isObject(first) ? memberChanges(first) : scalarChanges(first)
    return [removal, ...changes.map(([what, changed]) => set(`0${what}`, [changed, ...rest]))]
  }
  if (isObject(value)) {
    return [removal, ...Object.entries(value).flatMap(([name, each]) => within([...path, name], each))]
  }
  return [removal, ...scalarChanges(value).map(([what, changed]) => set(what.trim(), changed))]
}

type Change = readonly [string, unknown]

/** Each scalar below an element of a list is changed in a copy of the element. */
function memberChanges(element: Body): readonly Change[] {
  return Object.entries(element).flatMap(([name, value]): readonly Change[] => {
    const inner = Array.isArray(value) && isObject(value[0]) ? memberChanges(value[0]) : undefined
    const changes = inner?.map(([what, changed]): Change => [
      `.0${what}`,
      [changed, ...(value as unknown[]).slice(1)],
    ])
    const direct = isObject(value) ? memberChanges(value) : scalarChanges(value)
    return (changes ?? direct).map(([what, changed]): Change => [
      `.${name}${what}`,
      { ...element, [name]: changed },
    ])
  })
}

function scalarChanges(value: unknown): readonly Change[] {
  if (typeof value === 'string') return [[' changed', `${value}x`]]
  if (typeof value === 'number') return [[' changed', value + 1]]
  if (typeof value === 'boolean') return [[' changed', !value]]
  return []
}

function nested([name, ...rest]: readonly string[], value: unknown): Body {
  return { [name!]: rest.length === 0 ? value : nested(rest, value) }
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
