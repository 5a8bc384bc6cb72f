/**
 * Converts objects to the requested version, transformation (Table or PartialObjectMetadata) and media type.
 * Each encoding of an object version is computed once and shared.
 */
import { convertObject } from '#/api/conversion.ts'
import { encodedObject } from '#/api/encoded-object.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { encodeProtobuf } from '#/api/protobuf.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { mediaTypes, type Negotiated } from './negotiation.ts'
import { rulesOf } from './registry/resource-strategy.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { ValueBody } from './request.ts'

export class View {
  readonly resource: Resource
  readonly negotiated: Negotiated
  /** True if objects arrive in the version of the view: it is the storage version, or they were converted. */
  readonly #isConverted: boolean
  #formName: string | undefined
  #valueName: string | undefined

  constructor(resource: Resource, negotiated: Negotiated) {
    this.resource = resource
    this.negotiated = negotiated
    this.#isConverted =
      rulesOf(resource).conversion !== undefined ||
      (resource.storage.version === resource.version && resource.storage.group === resource.group)
  }

  /** Cache key of the encodings that this view produces. */
  get formName(): string {
    if (this.#formName === undefined) {
      const { format, transform, pretty } = this.negotiated
      const kind = transform ? `${transform.kind}/${transform.version}` : ''
      this.#formName = `${this.valueName} ${kind} ${format}${pretty ? ' pretty' : ''}`
    }
    return this.#formName
  }

  /** Cache key of the object in the version of the view. */
  private get valueName(): string {
    const { resource } = this
    this.#valueName ??= `${apiVersionOf(resource)} ${rulesOf(resource).conversion?.name ?? ''}`
    return this.#valueName
  }

  get mediaType(): string {
    return mediaTypes[this.negotiated.format]
  }

  /** The object in the version of the view, or as PartialObjectMetadata. */
  value(stored: StoredObject): KubernetesObject {
    const { transform } = this.negotiated
    if (transform !== undefined && transform.kind !== 'Table') {
      return stored.form(`${transform.kind}/${transform.version}`, () =>
        metadataOnly(stored.peek(), this.resource, transform.version),
      )
    }
    if (this.#isConverted) return stored.object
    return stored.form(this.valueName, () => convertObject(stored.peek(), this.resource))
  }

  /** True if the encoding is the stored JSON. */
  get isStored(): boolean {
    const { format, transform, pretty } = this.negotiated
    return this.#isConverted && format === 'json' && transform === undefined && !pretty
  }

  /** The value encoded in the media type of the view. */
  bytes(stored: StoredObject): Uint8Array {
    if (this.isStored) return stored.json
    return stored.form(this.formName, () => encodeValue(this.value(stored), this.negotiated))
  }

  /** The object is decoded only for callers within the process. Throws ApiError. */
  body(stored: StoredObject): ValueBody {
    stored.checkReadable()
    return new ObjectBody(this, stored)
  }
}

class ObjectBody implements ValueBody {
  readonly type = 'value'
  readonly #view: View
  readonly #stored: StoredObject

  constructor(view: View, stored: StoredObject) {
    this.#view = view
    this.#stored = stored
  }

  get mediaType(): string {
    return this.#view.mediaType
  }

  get value(): KubernetesObject {
    return this.#view.value(this.#stored)
  }

  bytes(): readonly Uint8Array[] {
    return [this.#view.bytes(this.#stored)]
  }
}

/** Encodes a value that is not stored: a Status, a list or a review. */
export function valueBody(value: object, negotiated: Pick<Negotiated, 'format' | 'pretty'>): ValueBody {
  return {
    type: 'value',
    mediaType: mediaTypes[negotiated.format],
    value,
    bytes: () => [encodeValue(value, negotiated)],
  }
}

export function encodeValue(
  value: object,
  { format, pretty }: Pick<Negotiated, 'format' | 'pretty'>,
): Uint8Array {
  const json = format === 'protobuf' ? null : (encodedObject(value) as JsonValue)
  switch (format) {
    case 'json':
      return Buffer.from(pretty ? `${prettyJson(json)}\n` : `${stringifyJson(json)}\n`)
    case 'yaml':
      return Buffer.from(stringifyYaml(json))
    case 'protobuf':
      return encodeProtobuf(value)
  }
}

export function prettyJson(value: JsonValue): string {
  return JSON.stringify(
    value,
    (_key, each: unknown) => (typeof each === 'bigint' ? JSON.rawJSON(String(each)) : each),
    2,
  )
}

export function metadataOnly(
  { metadata }: KubernetesObject,
  resource: Resource,
  version: 'v1' | 'v1beta1',
): KubernetesObject {
  const hidden = rulesOf(resource).conversionAnnotations
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: hidden === undefined ? metadata : withoutAnnotations(metadata, hidden),
  }
}

function withoutAnnotations(
  metadata: KubernetesObject['metadata'],
  hidden: readonly string[],
): KubernetesObject['metadata'] {
  const { annotations = {}, ...rest } = metadata
  const kept = Object.entries(annotations).filter(([name]) => !hidden.includes(name))
  if (kept.length === Object.keys(annotations).length) return metadata
  return kept.length === 0 ? rest : { ...metadata, annotations: Object.fromEntries(kept) }
}
