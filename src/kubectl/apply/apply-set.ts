import { createHash } from 'node:crypto'
import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { messageOf } from '#/base/message-of.ts'
import type { RestMapping } from '../discovery/rest-mapper.ts'
import { deleteOptionsOf, type DeletionPlan } from '../delete/delete-flags.ts'
import type { Factory } from '../factory.ts'
import { metadataMap } from '../metadata/metadata-changes.ts'
import { itemsOf } from '../resource/find-resources.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import type { WriteQuery } from '../resource/resource-client.ts'
import type { DryRun } from '../write-flags.ts'

const idLabel = 'applyset.kubernetes.io/id'
const partOfLabel = 'applyset.kubernetes.io/part-of'
const parentTypeLabel = 'applyset.kubernetes.io/is-parent-type'
const toolingAnnotation = 'applyset.kubernetes.io/tooling'
const namespacesAnnotation = 'applyset.kubernetes.io/additional-namespaces'
const kindsAnnotation = 'applyset.kubernetes.io/contains-group-kinds'

const tooling = 'kubectl/v1.36.4'

export interface ApplySetOptions {
  readonly factory: Factory
  readonly dryRun: DryRun
  readonly fieldValidation: WriteQuery['fieldValidation']
  readonly deletion: DeletionPlan
}

/** Kinds and namespaces that an ApplySet has members in. */
interface Content {
  readonly kinds: ReadonlyMap<string, RestMapping>
  readonly namespaces: ReadonlySet<string>
}

const empty: Content = { kinds: new Map(), namespaces: new Set() }

/**
 * A set of applied objects, which a parent object tracks in its labels and annotations (KEP-3659). The
 * members have a label with the id of the parent; those that an apply does not contain are pruned.
 */
export class ApplySet {
  readonly #options: ApplySetOptions
  readonly #parent: Info
  readonly #id: string
  #before = empty
  #after = empty

  private constructor(parent: Info, options: ApplySetOptions) {
    this.#parent = parent
    this.#options = options
    const { kind, group } = parent.mapping
    const digest = createHash('sha256').update([parent.name, parent.namespace, kind, group].join('.'))
    this.#id = `applyset-${digest.digest('base64url')}-v1`
  }

  /** `reference` is as in `--applyset`: `configmaps/web`, or the name of a Secret. */
  static async open(reference: string, options: ApplySetOptions): Promise<ApplySet> {
    return new ApplySet(await parentOf(reference, options.factory), options)
  }

  /** Throws Error if the parent cannot be one. */
  async requireParent(): Promise<void> {
    const { mapping, namespace } = this.#parent
    if (mapping.scope === 'Namespaced' && namespace === '') {
      throw new Error('namespace is required to use namespace-scoped ApplySet')
    }
    await requireParentType(this.#parent, this.#options.factory)
  }

  /** The object with the label of a member. */
  labeled(object: JsonObject): JsonObject {
    const metadata = isObject(object['metadata']) ? object['metadata'] : {}
    const labels = isObject(metadata['labels']) ? metadata['labels'] : {}
    if (partOfLabel in labels)
      throw new Error(`ApplySet label ${quote(partOfLabel)} already set in input data`)
    return { ...object, metadata: { ...metadata, labels: { ...labels, [partOfLabel]: this.#id } } }
  }

  /** Makes the parent cover the new members before they exist, so that an interrupted apply loses none. */
  async begin(infos: readonly Info[]): Promise<void> {
    this.#before = await this.#readParent()
    const namespaced = infos.filter(({ mapping }) => mapping.scope === 'Namespaced')
    this.#after = {
      kinds: new Map(infos.map(({ mapping }) => [groupKind(mapping), mapping])),
      namespaces: new Set(namespaced.map(({ namespace }) => namespace)),
    }
    const { kinds, namespaces } = this.#after
    await this.#updateParent({
      kinds: new Map([...this.#before.kinds, ...kinds]),
      namespaces: namespaces.union(this.#before.namespaces),
    })
  }

  /** Deletes the members that were not applied. */
  async prune(uids: ReadonlySet<string>, print: (object: JsonObject) => Promise<void>): Promise<void> {
    const { factory, dryRun, deletion } = this.#options
    const resources = await factory.resources()
    for (const collection of this.#collections()) {
      const list = await resources.get(locationOf(collection), {
        labelSelector: `${partOfLabel}=${this.#id}`,
      })
      for (const object of itemsOf(list)) {
        if (uids.has(metadataText(object, 'uid'))) continue
        const info = { ...collection, name: metadataText(object, 'name') }
        if (dryRun !== 'client') await resources.delete(locationOf(info), deleteOptionsOf(deletion))
        await print(object)
      }
    }
    try {
      await this.#updateParent(this.#after)
    } catch (error) {
      throw new Error(`apply and prune succeeded, but ApplySet update failed: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }

  *#collections(): Iterable<Info> {
    for (const mapping of this.#before.kinds.values()) {
      const namespaces = mapping.scope === 'Namespaced' ? this.#before.namespaces : ['']
      for (const namespace of namespaces) yield { mapping, namespace, name: '' }
    }
  }

  async #readParent(): Promise<Content> {
    const { factory } = this.#options
    const resources = await factory.resources()
    let parent: JsonObject
    try {
      parent = await resources.get(locationOf(this.#parent))
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      if (isBuiltinParent(this.#parent.mapping)) return empty
      throw new Error('custom resource ApplySet parents cannot be created automatically', { cause: error })
    }
    const annotations = metadataMap(parent, 'annotations')
    this.#requireOwnParent(parent)
    const kinds = annotations[kindsAnnotation]
    if (kinds === undefined) {
      throw new Error(
        `parsing ApplySet annotation on ${this.#parentName()}: kubectl requires the ` +
          `${quote(kindsAnnotation)} annotation to be set on all ApplySet parent objects`,
      )
    }
    const mapper = await factory.restMapper()
    const mappings = new Map<string, RestMapping>()
    for (const text of kinds.split(',').filter(each => each !== '')) {
      const [kind = '', ...group] = text.split('.')
      const mapping = await mapper.preferredFor(group.join('.'), kind)
      if (mapping === undefined) {
        const place = `parsing ApplySet annotation on ${this.#parentName()}: could not find mapping for kind in`
        throw new Error(`${place} ${quote(kindsAnnotation)} annotation: no matches for kind ${quote(kind)}`)
      }
      mappings.set(text, mapping)
    }
    const others = (annotations[namespacesAnnotation] ?? '').split(',').filter(each => each !== '')
    const { namespace } = this.#parent
    return { kinds: mappings, namespaces: new Set(namespace === '' ? others : [...others, namespace]) }
  }

  #requireOwnParent(parent: JsonObject): void {
    const tool = metadataMap(parent, 'annotations')[toolingAnnotation]
    const name = `ApplySet parent object ${this.#parentName()}`
    if (tool === undefined) {
      throw new Error(`${name} already exists and is missing required annotation ${quote(toolingAnnotation)}`)
    }
    const managedBy = tool.replace(/\/[^/]*$/, '')
    if (managedBy !== 'kubectl') {
      throw new Error(
        `${name} already exists and is managed by tooling ${quote(managedBy)} instead of "kubectl"`,
      )
    }
    const id = metadataMap(parent, 'labels')[idLabel]
    if (id === undefined) throw new Error(`${name} exists and does not have required label ${idLabel}`)
    if (id !== this.#id) {
      const values = `(got: ${id}, want: ${this.#id})`
      throw new Error(`${name} exists and has incorrect value for label ${quote(idLabel)} ${values}`)
    }
  }

  #parentName(): string {
    const { mapping, name } = this.#parent
    return quote(`${mapping.plural}.${mapping.group}/${name}`)
  }

  async #updateParent({ kinds, namespaces }: Content): Promise<void> {
    const { factory, dryRun, fieldValidation } = this.#options
    if (dryRun === 'client') return
    const { mapping, name, namespace } = this.#parent
    const others = [...namespaces].filter(each => each !== namespace)
    const parent = {
      apiVersion: mapping.group === '' ? mapping.version : `${mapping.group}/${mapping.version}`,
      kind: mapping.kind,
      metadata: {
        name,
        ...(namespace !== '' && { namespace }),
        annotations: {
          [toolingAnnotation]: tooling,
          [kindsAnnotation]: [...kinds.keys()].sort().join(','),
          [namespacesAnnotation]: others.sort().join(','),
        },
        labels: { [idLabel]: this.#id },
      },
    }
    const resources = await factory.resources()
    const write = { dryRun: dryRun === 'server', fieldManager: 'kubectl-applyset', fieldValidation }
    const body = JSON.stringify(parent)
    const apply = (force: boolean): Promise<JsonObject> =>
      resources.patch(locationOf(this.#parent), { type: 'apply', body }, { ...write, force })
    try {
      await apply(false)
    } catch (error) {
      if (!isApiError(error, 'Conflict')) throw error
      await apply(true)
    }
  }
}

/** `Deployment.apps`. */
function groupKind({ kind, group }: RestMapping): string {
  return group === '' ? kind : `${kind}.${group}`
}

async function parentOf(reference: string, factory: Factory): Promise<Info> {
  const slash = reference.indexOf('/')
  const name = reference.slice(slash + 1)
  if (name === '') throw new Error(`invalid parent reference ${quote(reference)}: name cannot be blank`)
  const mapper = await factory.restMapper()
  const mapping = await mapper.resourceFor(slash === -1 ? 'secrets' : reference.slice(0, slash))
  const { namespace, isExplicit } = await factory.namespace()
  // The namespace must be explicit: another default would be another set.
  return { mapping, name, namespace: isExplicit && mapping.scope === 'Namespaced' ? namespace : '' }
}

function isBuiltinParent({ group, plural }: RestMapping): boolean {
  return group === '' && ['secrets', 'configmaps'].includes(plural)
}

/** Custom resources are parents only if their definition has a label. */
async function requireParentType({ mapping }: Info, factory: Factory): Promise<void> {
  if (isBuiltinParent(mapping)) return
  const { group, version, plural } = mapping
  const mapper = await factory.restMapper()
  const definitions = await mapper.resourceFor('customresourcedefinitions.apiextensions.k8s.io')
  const resources = await factory.resources()
  const list = await resources.get({ mapping: definitions }, { labelSelector: parentTypeLabel })
  if (itemsOf(list).some(item => metadataText(item, 'name') === `${plural}.${group}`)) return
  const resource = quote(`${group}/${version}, Resource=${plural}`)
  throw new Error(`resource ${resource} is not permitted as an ApplySet parent`)
}
