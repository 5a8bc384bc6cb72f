import { get, isObject, put } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { compileRegularExpression, type RegularExpression } from '#/base/regular-expression.ts'
import { textOf, wrongKind } from '../documents/value.ts'
import { changeFields, type FieldSpec } from '../fields/field-spec.ts'
import type { Image } from '../load/kustomization.ts'
import type { Resource } from '../resources/resource.ts'

/** Changes name, tag or digest of an image in the containers of all resources, and in the given fields. */
export function replaceImage(resources: Iterable<Resource>, image: Image, specs: readonly FieldSpec[]): void {
  const tag = '(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?'
  const pattern = compileRegularExpression(`^${image.name ?? ''}${tag}$`)
  const change = (value: JsonValue) => changeImage(value, image, pattern)
  const all = [...resources].filter(resource => resource.kind !== 'CustomResourceDefinition')
  // Two passes: a tag suffix is added to containers twice, as kustomize does.
  for (const resource of all) changeContainers(resource.object, change)
  for (const resource of all) changeFields(resource, specs, { change })
}

type ChangeValue = (value: JsonValue) => JsonValue

function changeContainers(value: JsonValue, change: ChangeValue): void {
  if (Array.isArray(value)) {
    for (const item of value) changeContainers(item, change)
    return
  }
  if (!isObject(value)) return
  for (const [key, member] of Object.entries(value)) {
    changeContainers(member, change)
    if ((key !== 'containers' && key !== 'initContainers') || !Array.isArray(member)) continue
    for (const container of member) {
      if (container !== null && !isObject(container)) throw wrongKind('MappingNode', container)
      const image = container === null ? undefined : get(container, 'image')
      if (container !== null && image !== undefined) put(container, 'image', change(image))
    }
  }
}

function changeImage(value: JsonValue, image: Image, pattern: RegularExpression): JsonValue {
  if (typeof value === 'object' && value !== null) throw wrongKind('ScalarNode', value)
  const text = textOf(value)
  if (!pattern.test(text)) return value
  const old = splitImage(text)
  const name = image.newName || old.name
  const { tag, digest } = newVersion(image, old)
  return `${name}${tag === '' ? '' : `:${tag}`}${digest === '' ? '' : `@${digest}`}`
}

interface ImageParts {
  readonly name: string
  readonly tag: string
  readonly digest: string
}

function newVersion(
  { newTag = '', digest = '', tagSuffix = '' }: Image,
  old: ImageParts,
): Omit<ImageParts, 'name'> {
  if (newTag !== '' || digest !== '') return { tag: newTag, digest }
  return tagSuffix === '' ? old : { tag: old.tag + tagSuffix, digest: '' }
}

/** A colon before the first slash belongs to the registry. */
function splitImage(text: string): ImageParts {
  const slash = Math.max(text.indexOf('/'), 0)
  const at = text.indexOf('@', slash)
  const digest = at === -1 ? '' : text.slice(at + 1)
  const rest = at === -1 ? text : text.slice(0, at)
  const colon = rest.indexOf(':', slash)
  if (colon === -1) return { name: rest, tag: '', digest }
  return { name: rest.slice(0, colon), tag: rest.slice(colon + 1), digest }
}
