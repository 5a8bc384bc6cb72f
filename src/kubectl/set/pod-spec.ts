import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { apiVersionText, kindText } from '../resource/info.ts'

/** Where the objects of a kind have their pod spec. */
const podSpecPaths: Readonly<Record<string, readonly string[]>> = {
  Pod: ['spec'],
  ReplicationController: ['spec', 'template', 'spec'],
  Deployment: ['spec', 'template', 'spec'],
  ReplicaSet: ['spec', 'template', 'spec'],
  DaemonSet: ['spec', 'template', 'spec'],
  StatefulSet: ['spec', 'template', 'spec'],
  Job: ['spec', 'template', 'spec'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
}

const workloadGroups: readonly string[] = ['apps', 'batch', 'extensions']

/** The object with a changed pod spec. Throws Error for a kind without pods. */
export function withPodSpec(object: JsonObject, change: (spec: JsonObject) => JsonObject): JsonObject {
  const [version = '', group = ''] = apiVersionText(object).split('/').reverse()
  const kind = kindText(object)
  const path = group === '' || workloadGroups.includes(group) ? podSpecPaths[kind] : undefined
  if (path !== undefined) return changeAt(object, path, change)
  throw new Error(`the object is not a pod or does not have a pod template: *${version}.${kind}`)
}

function changeAt(
  object: JsonObject,
  [name = '', ...rest]: readonly string[],
  change: (spec: JsonObject) => JsonObject,
): JsonObject {
  const value = objectOf(object[name])
  return { ...object, [name]: rest.length === 0 ? change(value) : changeAt(value, rest, change) }
}

export interface ContainerChange {
  /** Takes the name of a container. */
  readonly selects: (name: string) => boolean
  readonly change: (container: JsonObject) => JsonObject
}

/**
 * The pod spec with changes of the matching containers, init containers included. Undefined if none matches.
 */
export function withContainers(
  spec: JsonObject,
  { selects, change }: ContainerChange,
): JsonObject | undefined {
  const changed = { ...spec }
  let hasMatch = false
  for (const field of ['containers', 'initContainers']) {
    const containers = spec[field]
    if (!Array.isArray(containers)) continue
    changed[field] = containers.map(container => {
      if (!isObject(container) || !selects(textOf(container['name']))) return container
      hasMatch = true
      return change(container)
    })
  }
  return hasMatch ? changed : undefined
}

/** Tests names against a pattern with `*` as wildcard. */
export function nameTest(pattern: string): (name: string) => boolean {
  const parts = pattern.split('*').map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  const expression = new RegExp(`^${parts.join('.*')}$`)
  return name => expression.test(name)
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {}
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
