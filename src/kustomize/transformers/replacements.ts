import { parseYaml } from '#/api/text/yaml.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { isObject } from '#/api/text/json-object.ts'
import {
  cloneValue,
  isEmptyValue,
  kindOf,
  resolveScalar,
  sizeOf,
  textOf,
  type NodeKind,
} from '../documents/value.ts'
import { findSlots, lookUp, type Slot } from '../fields/field-path.ts'
import { splitFieldPath } from '../fields/split-path.ts'
import { KustomizeError, toKustomizeError } from '../kustomize-error.ts'
import { decodeDocument, structs } from '../load/decode.ts'
import {
  replacementShape,
  type FieldOptions,
  type Replacement,
  type ReplacementField,
  type ReplacementTarget,
} from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'
import { effectiveNamespace, formatId, isSelected, type ResourceId } from '../resources/resource-id.ts'
import type { ResourceList } from '../resources/resource-list.ts'
import type { Resource } from '../resources/resource.ts'
import { compileSelector, type CompiledSelector, type ResourceSelector } from '../resources/selector.ts'
import type { Transform } from './patches.ts'
import { setInStructuredData } from './structured-data.ts'

/** Maximum size of what the replacements of a kustomization may copy. */
const copiedSizeMax = 32 * 1024 * 1024

const defaultFieldPath = 'metadata.name'

/** Copies fields of resources to fields of others. */
export async function replacementTransformer(
  fields: readonly ReplacementField[],
  loader: Loader,
): Promise<Transform> {
  const replacements: Replacement[] = []
  for (const field of fields) replacements.push(...(await loadReplacements(field, loader)))
  return resources => {
    const budget = { copiedSize: 0 }
    for (const replacement of replacements) replace(resources, replacement, budget)
  }
}

async function loadReplacements(field: ReplacementField, loader: Loader): Promise<readonly Replacement[]> {
  const { path = '', ...inline } = field
  if (path === '') return [inline]
  if (field.source !== undefined || (field.targets ?? []).length > 0) {
    throw new KustomizeError('cannot specify both path and inline replacement')
  }
  const value = parseYaml(await loader.read(path))
  if (Array.isArray(value)) return decodeDocument(structs(replacementShape), value, false)
  if (isObject(value)) return [decodeDocument(replacementShape, value, false)]
  const kind = value === null ? 'invalid' : typeof value
  throw new KustomizeError(`unsupported replacement type encountered within replacement path: ${kind}`)
}

interface Budget {
  copiedSize: number
}

function replace(resources: ResourceList, replacement: Replacement, budget: Budget): void {
  const { source, sourceValue, targets } = replacement
  if ((source === undefined && sourceValue === undefined) || targets === undefined) {
    throw new KustomizeError('replacements must specify a source and at least one target')
  }
  if (source !== undefined && sourceValue !== undefined) {
    throw new KustomizeError('value and resource selectors are mutually exclusive')
  }
  const value = sourceValue ?? sourceOf(resources, source ?? {})
  for (const target of targets) copyTo(resources, target, { value, budget })
}

type Source = NonNullable<Replacement['source']>

function sourceOf(resources: ResourceList, source: Source): JsonValue {
  const resource = selectSource(resources, source)
  const fieldPath = source.fieldPath || defaultFieldPath
  let value
  try {
    value = lookUp(resource.object, splitFieldPath(fieldPath))
  } catch (error) {
    throw toKustomizeError(error, text => `error looking up replacement source: ${text}`)
  }
  if (value === undefined || isEmptyValue(value)) {
    const where = `replacement source ${formatId(idOf(source))}`
    throw new KustomizeError(`fieldPath \`${fieldPath}\` is missing for ${where}`)
  }
  const { delimiter = '', index = 0 } = source.options ?? {}
  if (delimiter === '') return value
  if (kindOf(value) !== 'ScalarNode') {
    throw new KustomizeError('delimiter option can only be used with scalar nodes')
  }
  const part = Number(index) < 0 ? undefined : textOf(value).split(delimiter)[Number(index)]
  if (part !== undefined) return withText(value, part)
  throw new KustomizeError(`options.index ${index} is out of bounds for value ${textOf(value)}`)
}

function selectSource(resources: ResourceList, source: Source): Resource {
  const id = idOf(source)
  const [found, ...others] = [...resources].filter(resource =>
    resource.allIds.some(
      other =>
        (id.name === '' || id.name === other.name) &&
        (id.namespace === '' || effectiveNamespace(id) === effectiveNamespace(other)) &&
        isSelected(other, id),
    ),
  )
  if (found !== undefined && others.length === 0) return found
  const { fieldPath, options } = source
  const shown = [formatId(id), fieldPath ?? '', formatOptions(options)].filter(part => part !== '').join(':')
  if (found === undefined) throw new KustomizeError(`nothing selected by ${shown}`)
  throw new KustomizeError(`multiple matches for selector ${shown}`)
}

function formatOptions({ delimiter = '', index = 0, create = false }: FieldOptions = {}): string {
  return delimiter === '' && !create ? '' : `${delimiter}(${index}), create=${create}`
}

function idOf(selector: ResourceSelector): ResourceId {
  const { group = '', version = '', kind = '', name = '', namespace = '' } = selector
  return { group, version, kind, name, namespace }
}

interface Copy {
  readonly value: JsonValue
  readonly budget: Budget
}

function copyTo(resources: ResourceList, target: ReplacementTarget, copy: Copy): void {
  if (target.select === undefined) throw new KustomizeError('target must specify resources to select')
  const select = compile(target.select)
  const rejects = (target.reject ?? []).map(selector => ({ selector, compiled: compile(selector) }))
  for (const resource of resources) {
    const ids = [resource.currentId, ...resource.previousIds]
    const isRejected = rejects.some(({ selector, compiled }) => {
      const hasLabels = Boolean(selector.annotationSelector) || Boolean(selector.labelSelector)
      if (hasLabels && compiled.matchesMetadata(resource)) return true
      const hasId = Object.values(idOf(selector)).some(member => member !== '')
      return hasId && ids.some(id => matchesId(compiled, id))
    })
    if (isRejected || !select.matchesMetadata(resource)) continue
    if (ids.some(id => matchesId(select, id))) setFields(resource, target, copy)
  }
}

function compile(selector: ResourceSelector): CompiledSelector {
  try {
    return compileSelector(selector)
  } catch (error) {
    throw toKustomizeError(error, text => `error creating target selector: ${text}`)
  }
}

function matchesId(selector: CompiledSelector, id: ResourceId): boolean {
  return selector.matchesGvk(id) && selector.matchesName(id.name) && selector.matchesNamespace(id.namespace)
}

function setFields(resource: Resource, target: ReplacementTarget, { value, budget }: Copy): void {
  const { options = {} } = target
  const paths = target.fieldPaths?.length ? target.fieldPaths : [defaultFieldPath]
  const createKind = options.create === true ? kindOf(value) : undefined
  const root: Slot = { get: () => resource.object, set: () => undefined }
  for (const fieldPath of paths) {
    const path = splitFieldPath(fieldPath)
    budget.copiedSize += sizeOf(value)
    if (budget.copiedSize > copiedSizeMax) {
      throw new KustomizeError(`replacements copy more than ${copiedSizeMax} characters`)
    }
    if (setInStructuredData(resource.object, path, { value, createKind })) continue
    for (const slot of findTargets(root, fieldPath, createKind)) {
      const changed = changeSlot(slot, value, options)
      budget.copiedSize += changed
    }
    // Values may be nested into each other.
    if (typeof value === 'object') sizeOf(resource.object)
  }
}

function findTargets(root: Slot, fieldPath: string, createKind: NodeKind | undefined): Slot[] {
  const what = createKind === undefined ? 'find' : 'find or create'
  const problem = `unable to ${what} field ${JSON.stringify(fieldPath)} in replacement target`
  let slots
  try {
    slots = findSlots(root, splitFieldPath(fieldPath), createKind)
  } catch (error) {
    throw toKustomizeError(error, text => `${problem}: ${text}`)
  }
  if (slots.length === 0) throw new KustomizeError(problem)
  return slots
}

/** Returns the size of the new value. */
function changeSlot(slot: Slot, value: JsonValue, { delimiter = '', index = 0 }: FieldOptions): number {
  const old = slot.get()
  let changed = cloneValue(value)
  if (delimiter !== '') {
    if (kindOf(old) !== 'ScalarNode') {
      throw new KustomizeError('delimiter option can only be used with scalar nodes')
    }
    const parts = textOf(old).split(delimiter)
    if (Number(index) < 0) parts.unshift(textOf(value))
    else if (index >= parts.length) parts.push(textOf(value))
    else parts[Number(index)] = textOf(value)
    changed = withText(value, parts.join(delimiter))
  }
  // A scalar takes only the text of a value, and a list or a map has none.
  slot.set(kindOf(old) === 'ScalarNode' ? withText(old, textOf(changed)) : changed)
  return sizeOf(changed)
}

/** A scalar keeps its type when its text is replaced; one that was created is what its text says. */
function withText(old: JsonValue, text: string): JsonValue {
  if (typeof old === 'string') return text
  const value = resolveScalar(text)
  if (old === null || typeof value === typeof old) return value
  const tag =
    typeof old === 'boolean' ? 'bool' : Number.isInteger(old) || typeof old === 'bigint' ? 'int' : 'float'
  throw new KustomizeError(`yaml: cannot decode !!str \`${text}\` as a !!${tag}`)
}
