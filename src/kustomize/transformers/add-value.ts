import { posix } from 'node:path'
import { parseYaml } from '#/api/text/yaml.ts'
import { kindOf, textOf, wrongKind } from '../documents/value.ts'
import { findSlots } from '../fields/field-path.ts'
import { splitPath } from '../fields/split-path.ts'
import { KustomizeError } from '../kustomize-error.ts'
import { decodeDocument, integer, struct, structs, text } from '../load/decode.ts'
import { selectorShape } from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'
import type { Resource } from '../resources/resource.ts'
import { selectResources, type ResourceSelector } from '../resources/selector.ts'
import { setNamespace } from './namespace.ts'
import type { Transform } from './patches.ts'

interface ValueTarget {
  readonly selector?: ResourceSelector
  readonly fieldPath?: string
  /** Inserts the value as this part of a path, counted from 1. */
  readonly filePathPosition?: number | bigint
}

/** The targets of a value, in the configuration or in a file. */
export const valueTargets = structs(
  struct('Target', { selector: selectorShape, fieldPath: text, filePathPosition: integer }),
)

/** Sets a value in fields of selected resources; by default the name of the kustomization's folder. */
export async function addValue(
  options: {
    readonly value?: string
    readonly targets?: readonly ValueTarget[]
    readonly targetFilePath?: string
  },
  loader: Loader,
): Promise<Transform> {
  const value = (options.value ?? '').trim() || posix.basename(loader.root)
  const targets = [...(options.targets ?? [])]
  if (options.targetFilePath) {
    const shape = struct('Targets', { targets: valueTargets })
    const file = decodeDocument(shape, parseYaml(await loader.read(options.targetFilePath)), false)
    targets.push(...(file.targets ?? []))
  }
  if (targets.length === 0) throw new KustomizeError('must specify at least one target')
  for (const { fieldPath = '', filePathPosition = 0 } of targets) {
    if (fieldPath === '') throw new KustomizeError('fieldPath cannot be empty')
    if (filePathPosition < 0) {
      throw new KustomizeError(`value of FilePathPosition (${filePathPosition}) cannot be negative`)
    }
  }
  return resources => {
    for (const target of targets) {
      const selected = target.selector ? selectResources(resources, target.selector) : resources.toArray()
      for (const resource of selected) setValue(resource, target, value)
    }
  }
}

function setValue(
  resource: Resource,
  { fieldPath = '', filePathPosition = 0 }: ValueTarget,
  value: string,
): void {
  if (fieldPath === 'metadata/namespace') {
    setNamespace(resource, { namespace: value, specs: [] })
    return
  }
  const root = { get: () => resource.object, set: () => undefined }
  for (const slot of findSlots(root, splitPath(fieldPath, '/'), 'ScalarNode')) {
    const old = slot.get()
    if (kindOf(old) !== 'ScalarNode') throw wrongKind('ScalarNode', old)
    slot.set(filePathPosition > 0 ? insertPart(textOf(old), Number(filePathPosition) - 1, value) : value)
  }
}

function insertPart(path: string, position: number, part: string): string {
  const isAbsolute = path.startsWith('/')
  const parts = path.split('/').filter(each => each !== '')
  parts.splice(Math.min(position, parts.length), 0, part)
  return (isAbsolute ? '/' : '') + parts.join('/')
}
