/** A minimal and a rich body of every kind: examples where there are some, otherwise derived from the schema. */
import { accessExamples } from './examples/access.ts'
import { coreExamples } from './examples/core.ts'
import { deviceAndNodeExamples } from './examples/devices-and-nodes.ts'
import type { Example, Examples } from './examples/example.ts'
import { extensionExamples } from './examples/extensions.ts'
import { networkAndStorageExamples } from './examples/network-and-storage.ts'
import { podExamples } from './examples/pod.ts'
import { workloadExamples } from './examples/workloads.ts'
import { apiVersionOf } from './discovered.ts'
import type { Body } from './request.ts'
import type { Schemas } from './schemas.ts'

const examples: Examples = {
  ...podExamples,
  ...coreExamples,
  ...workloadExamples,
  ...networkAndStorageExamples,
  ...accessExamples,
  ...extensionExamples,
  ...deviceAndNodeExamples,
}

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Versions in which a kind has another form than in its stable one. */
const otherForms = /^resource\.k8s\.io\/v1beta1\//

/** Versions of one resource have the same objects, so that those of the tool need names of their own. */
function suffixOf({ group, version }: Kind): string {
  const isAnother =
    version.length > 2 || group === 'events.k8s.io' || (group === 'autoscaling' && version === 'v1')
  return isAnother ? `-${version}` : ''
}

export class KindBodies {
  readonly #schemas: Schemas

  constructor(schemas: Schemas) {
    this.#schemas = schemas
  }

  minimal(kind: Kind, name: string): Body {
    return this.#complete(kind, name, this.#exampleOf(kind).minimal)
  }

  rich(kind: Kind, name: string): Body {
    return this.#complete(kind, name, this.#exampleOf(kind).rich)
  }

  /** The name that the kind allows for an object. */
  nameOf(kind: Kind, name: string): string {
    return this.#exampleOf(kind).nameOf?.(name) ?? `${name}${suffixOf(kind)}`
  }

  #exampleOf({ group, version, kind }: Kind): Example {
    const form = `${apiVersionOf({ group, version })}/${kind}`
    const known = examples[form] ?? examples[`${group}/${kind}`]
    if (known !== undefined && !otherForms.test(form)) return known
    const schema = this.#schemas.ofKind({ group, version, kind })
    const derived = (schema ? this.#schemas.derive(schema) : {}) as Body
    // Kinds whose spec is optional in the schema need one in most cases.
    const spec = schema && !('spec' in derived) && this.#schemas.resolve(schema).schema.properties?.['spec']
    const body = spec ? { ...derived, spec: this.#schemas.derive(spec) } : derived
    return { minimal: body, rich: body }
  }

  #complete(kind: Kind, name: string, body: Body): Body {
    const { metadata = {}, ...rest } = body as { readonly metadata?: Body }
    const { apiVersion: _apiVersion, kind: _kind, ...fields } = rest as Body
    const { specOf } = this.#exampleOf(kind)
    return {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: { ...metadata, name: this.nameOf(kind, name) },
      ...fields,
      ...(specOf && { spec: { ...(fields['spec'] as Body), ...specOf(name) } }),
    }
  }
}
