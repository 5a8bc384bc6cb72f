import { KustomizeError } from '../kustomize-error.ts'
import { equalGvk, isSelected, type Gvk } from '../resources/resource-id.ts'
import { compareGvk } from '../resources/compare-gvk.ts'
import type { FieldSpec } from './field-spec.ts'

/** Which fields the transformers change, by kind: the content of a file in `configurations`. */
export interface Configuration {
  readonly namePrefix: readonly FieldSpec[]
  readonly nameSuffix: readonly FieldSpec[]
  readonly namespace: readonly FieldSpec[]
  readonly commonLabels: readonly FieldSpec[]
  readonly labels: readonly FieldSpec[]
  readonly templateLabels: readonly FieldSpec[]
  readonly commonAnnotations: readonly FieldSpec[]
  readonly nameReference: readonly NameReference[]
  readonly varReference: readonly FieldSpec[]
  readonly images: readonly FieldSpec[]
  readonly replicas: readonly FieldSpec[]
}

/** The fields that contain names of a kind. */
export interface NameReference extends Partial<Gvk> {
  readonly fieldSpecs?: readonly FieldSpec[]
}

export const emptyConfiguration: Configuration = {
  namePrefix: [],
  nameSuffix: [],
  namespace: [],
  commonLabels: [],
  labels: [],
  templateLabels: [],
  commonAnnotations: [],
  nameReference: [],
  varReference: [],
  images: [],
  replicas: [],
}

const fieldSpecLists = [
  'namePrefix',
  'nameSuffix',
  'namespace',
  'commonAnnotations',
  'commonLabels',
  'labels',
  'templateLabels',
  'varReference',
  'images',
  'replicas',
] as const

export function mergeConfigurations(left: Configuration, right: Configuration): Configuration {
  const lists = fieldSpecLists.map(name => {
    try {
      return [name, mergeFieldSpecs(left[name], right[name]).toSorted(byGvk)] as const
    } catch (error) {
      if (!(error instanceof KustomizeError)) throw error
      const title = name === 'namespace' ? 'NameSpace' : name.charAt(0).toUpperCase() + name.slice(1)
      throw new KustomizeError(`failed to merge ${title} fieldSpec: ${error.message}`, { cause: error })
    }
  })
  const nameReference = mergeNameReferences(left.nameReference, right.nameReference).toSorted(byGvk)
  return { ...emptyConfiguration, ...Object.fromEntries(lists), nameReference }
}

/** Fields of the first list take precedence; both must agree whether a field is created. */
export function mergeFieldSpecs(
  left: readonly FieldSpec[],
  right: readonly FieldSpec[],
): readonly FieldSpec[] {
  const byPath = Map.groupBy(left, spec => spec.path ?? '')
  const merged = [...left]
  for (const spec of right) {
    const known = byPath.getOrInsert(spec.path ?? '', [])
    const same = known.find(each => isSelected(toGvk(each), spec))
    if (same === undefined) {
      merged.push(spec)
      known.push(spec)
    } else if ((same.create ?? false) !== (spec.create ?? false)) {
      throw new KustomizeError('conflicting fieldspecs')
    }
  }
  return merged
}

function mergeNameReferences(
  left: readonly NameReference[],
  right: readonly NameReference[],
): readonly NameReference[] {
  const merged = [...left]
  for (const reference of right) {
    const index = merged.findIndex(each => equalGvk(toGvk(each), toGvk(reference)))
    const same = merged[index]
    if (same === undefined) {
      merged.push(reference)
    } else {
      const fieldSpecs = mergeFieldSpecs(same.fieldSpecs ?? [], reference.fieldSpecs ?? [])
      merged[index] = { ...same, fieldSpecs }
    }
  }
  return merged
}

function toGvk({ group = '', version = '', kind = '' }: Partial<Gvk>): Gvk {
  return { group, version, kind }
}

function byGvk(left: Partial<Gvk>, right: Partial<Gvk>): number {
  return compareGvk(toGvk(left), toGvk(right))
}
