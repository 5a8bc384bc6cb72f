import type { GroupVersionKind } from '#/api/resource.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { ApiError, isApiError } from '#/api/errors.ts'
import { objectOf } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import { messageOf } from '#/base/message-of.ts'
import { NoKindMatchError, type RestMapping } from '../discovery/rest-mapper.ts'
import type { Factory } from '../factory.ts'
import { apiVersionText, kindText, locationOf, metadataText, type Info, requireObjectName } from './info.ts'
import {
  ManifestError,
  readManifests,
  type ManifestDocument,
  type ManifestOptions,
} from './read-manifests.ts'
import { typedObject, validateType } from './typed-object.ts'
import { parseResourceArguments, type ResourceArguments } from './resource-arguments.ts'

export interface ResourceQuery extends ManifestOptions {
  readonly args?: readonly string[]
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly allNamespaces?: boolean | undefined
  /** All objects of the types, as with `--all`. Without it, types without names need a selector. */
  readonly all?: boolean | undefined
  /** As `all`, but names and selectors may be given, too. */
  readonly allowEmptySelector?: boolean | undefined
  /**
   * Reads the objects from the server; otherwise those of files are as in the file, and others are absent.
   */
  readonly latest?: boolean
  /** Reads objects that are named by arguments from the server; those of files are as in the file. */
  readonly requireObject?: boolean
  /** Reports objects of files without type as errors of validation, as `--validate` does. */
  readonly validatesType?: boolean
  /** Only files, without a connection to the cluster. */
  readonly local?: boolean | undefined
  /**
   * Types without names give one Info per type, a collection, instead of one for each object. For commands
   * that list or watch by themselves.
   */
  readonly collections?: boolean
  /** The type of arguments that are only names: `kubectl logs web-0`. */
  readonly defaultType?: string
  /** Absent objects are no error. */
  readonly ignoreNotFound?: boolean | undefined
  readonly subresource?: string | undefined
  /** Objects per page of lists. */
  readonly chunkSize?: number | undefined
}

export interface FoundResources {
  readonly infos: readonly Info[]
  /** What could not be found or read. The rest was found. */
  readonly errors: readonly unknown[]
  /** True if a single object was named, by an argument or a file. */
  readonly isSingleItem: boolean
}

/**
 * The objects that the arguments or files of a command name. Throws Error for arguments that contradict each
 * other.
 */
export async function findResources(factory: Factory, query: ResourceQuery): Promise<FoundResources> {
  const hasFiles = (query.filenames?.length ?? 0) > 0 || query.kustomize !== undefined
  const hasSelector = Boolean(query.labelSelector) || Boolean(query.fieldSelector)
  // Scripts may compare the text, which ends with a space.
  if (query.all && hasSelector) throw new Error("setting 'all' parameter but found a non empty selector. ")
  const selected = argumentsOf(query)
  if (hasFiles) {
    if (selected.type !== 'nothing') {
      throw new Error(
        'when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well',
      )
    }
    return new Finder(factory, query).inFiles()
  }
  if (selected.type === 'nothing') throw new Error(missingResource)
  if (selected.type === 'names') {
    if (hasSelector) throw new Error('name cannot be provided when a selector is specified')
    if (query.all) throw new Error('name cannot be provided when a selector is specified')
    if (query.allNamespaces) throw new Error('a resource cannot be retrieved by name across all namespaces')
    return new Finder(factory, query).named(selected.names)
  }
  if (query.subresource) throw new Error('subresource cannot be used when bulk resources are specified')
  if (!hasSelector && !query.all && !query.allowEmptySelector)
    throw new Error('resource(s) were provided, but no name was specified')
  return new Finder(factory, query).selected(selected.types)
}

/** As `findResources`; throws when something was not found. */
export async function requireResources(factory: Factory, query: ResourceQuery): Promise<readonly Info[]> {
  const { infos, errors } = await findResources(factory, query)
  throwAny(errors)
  return infos
}

/** Throws the error, or an AggregateError of several. */
export function throwAny(errors: readonly unknown[]): void {
  const [error, ...others] = errors.flatMap(each => (each instanceof AggregateError ? each.errors : [each]))
  if (others.length > 0) throw new AggregateError([error, ...others])
  if (error !== undefined) throw error
}

/**
 * Performs an action on each object that is found, and continues after errors. Throws the errors at the end.
 * Returns the number of objects.
 */
export async function visitResources(
  factory: Factory,
  query: ResourceQuery,
  action: (info: Info) => Promise<void>,
): Promise<number> {
  const { infos, errors: missing } = await findResources(factory, query)
  throwAny([...missing, ...(await visitInfos(infos, action))])
  return infos.length
}

/** Performs an action on each object. Returns the errors. */
export async function visitInfos(
  infos: readonly Info[],
  action: (info: Info) => Promise<void>,
): Promise<readonly unknown[]> {
  const errors: unknown[] = []
  for (const info of infos) {
    try {
      await action(info)
    } catch (error) {
      errors.push(error)
    }
  }
  return errors
}

const missingResource = `You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'`

function argumentsOf({ args = [], defaultType }: ResourceQuery): ResourceArguments {
  const isOnlyNames = defaultType !== undefined && args.length > 0 && !args.some(each => each.includes('/'))
  return parseResourceArguments(isOnlyNames ? [defaultType, ...args] : args)
}

const namespaces = { group: '', version: 'v1', plural: 'namespaces', scope: 'Cluster' } as const

class Finder {
  readonly #factory: Factory
  readonly #query: ResourceQuery
  readonly #infos: Info[] = []
  readonly #errors: unknown[] = []
  #namesCount = 0

  constructor(factory: Factory, query: ResourceQuery) {
    this.#factory = factory
    this.#query = query
  }

  async named(
    names: readonly { readonly resource: string; readonly name: string }[],
  ): Promise<FoundResources> {
    this.#namesCount = names.length
    const mapper = await this.#factory.restMapper()
    const mappings = new Map<string, RestMapping>()
    for (const { resource, name } of names) {
      if (name === '') throw new Error('resource name may not be empty')
      if (!mappings.has(resource)) mappings.set(resource, await mapper.resourceFor(resource))
    }
    for (const { resource, name } of names) {
      const mapping = mappings.get(resource)!
      await this.#add({ mapping, namespace: await this.#namespaceOf(mapping), name })
    }
    return this.#found()
  }

  async selected(types: readonly string[]): Promise<FoundResources> {
    for (const mapping of await this.#mappings(types)) {
      const namespace = this.#query.allNamespaces ? '' : await this.#namespaceOf(mapping)
      const collection: Info = { mapping, namespace, name: '' }
      if (this.#query.collections) this.#infos.push(collection)
      else await this.#attempt(() => this.#listed(collection))
    }
    return this.#found()
  }

  async inFiles(): Promise<FoundResources> {
    const { labelSelector = '' } = this.#query
    const selects = labelSelector === '' ? () => true : await labelTestOf(labelSelector)
    const broken = new Set<string>()
    for (const document of flattenLists(await this.#documents())) {
      const { source } = document
      // The rest of a file with an invalid document is not read.
      if (broken.has(source)) continue
      try {
        if (this.#query.validatesType) validateType(document)
      } catch (error) {
        this.#errors.push(error)
        broken.add(source)
        continue
      }
      await this.#attempt(() => this.#fromFile(typedObject(document), source))
    }
    const found = this.#found()
    return { ...found, infos: found.infos.filter(({ object }) => selects(object)) }
  }

  #found(): FoundResources {
    return { infos: this.#infos, errors: this.#errors, isSingleItem: this.#isSingleItem() }
  }

  #isSingleItem(): boolean {
    const { filenames = [], kustomize } = this.#query
    const [file, ...others] = filenames
    if (file === undefined) return this.#namesCount === 1
    return (
      others.length === 0 && kustomize === undefined && this.#infos.every(({ source }) => source === file)
    )
  }

  /** Types, and all types of categories; each once. */
  async #mappings(types: readonly string[]): Promise<readonly RestMapping[]> {
    const mapper = await this.#factory.restMapper()
    const found: RestMapping[] = []
    for (const type of types) {
      const category = type === 'all' ? await mapper.inCategory(type) : []
      if (category.length > 0) found.push(...category)
      else found.push(...(await this.#typeOrCategory(type)))
    }
    return [...new Map(found.map(each => [`${each.plural}.${each.version}.${each.group}`, each])).values()]
  }

  async #typeOrCategory(type: string): Promise<readonly RestMapping[]> {
    const mapper = await this.#factory.restMapper()
    try {
      return [await mapper.resourceFor(type)]
    } catch (error) {
      const category = await mapper.inCategory(type)
      if (category.length > 0) return category
      throw error
    }
  }

  async #documents(): Promise<readonly ManifestDocument[]> {
    try {
      return await readManifests(this.#factory.machine, this.#query)
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error
      this.#errors.push(error)
      return error.documents
    }
  }

  async #fromFile(object: JsonObject, source: string): Promise<void> {
    const name = metadataText(object, 'name')
    const [group, version] = splitApiVersion(apiVersionText(object))
    if (this.#query.local) {
      const mapping = localMapping({ group, version, kind: kindText(object) })
      this.#infos.push({ mapping, namespace: metadataText(object, 'namespace'), name, object, source })
      return
    }
    const mapper = await this.#factory.restMapper()
    try {
      const mapping = await mapper.mappingFor({ group, version, kind: kindText(object) })
      const namespace = await this.#namespaceInFile(mapping, object)
      await this.#add({ mapping, namespace, name, object: withNamespace(object, namespace), source })
    } catch (error) {
      if (!(error instanceof NoKindMatchError)) throw error
      const given = quote(metadataText(object, 'namespace'))
      const place = `for name: ${quote(name)} namespace: ${given} from ${quote(source)}`
      throw new Error(
        `resource mapping not found ${place}: ${error.message}\nensure CRDs are installed first`,
        {
          cause: error,
        },
      )
    }
  }

  async #namespaceInFile(mapping: RestMapping, object: JsonObject): Promise<string> {
    if (mapping.scope === 'Cluster') return ''
    const { namespace, isExplicit } = await this.#factory.namespace()
    const given = metadataText(object, 'namespace')
    if (given !== '' && given !== namespace && isExplicit && !this.#query.allNamespaces) {
      throw new Error(
        `the namespace from the provided object ${quote(given)} does not match the namespace ${quote(namespace)}. ` +
          `You must pass '--namespace=${given}' to perform this operation.`,
      )
    }
    return given || namespace
  }

  async #namespaceOf({ scope }: RestMapping): Promise<string> {
    return scope === 'Cluster' ? '' : (await this.#factory.namespace()).namespace
  }

  async #attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.#errors.push(error)
    }
  }

  async #add(info: Info): Promise<void> {
    const { latest, requireObject } = this.#query
    if (!latest && !(requireObject && info.object === undefined)) {
      this.#infos.push(info)
      return
    }
    try {
      requireObjectName(info)
      const resources = await this.#factory.resources()
      this.#infos.push({ ...info, object: await resources.get(locationOf(info, this.#query.subresource)) })
    } catch (error) {
      if (this.#query.ignoreNotFound && isApiError(error, 'NotFound')) return
      this.#errors.push(isApiError(error, 'NotFound') ? await this.#missing(info, error) : error)
    }
  }

  /** The error that the namespace does not exist, rather than that the object does not. */
  async #missing({ namespace }: Info, error: unknown): Promise<unknown> {
    if (namespace === '' || namespace === 'default') return error
    const resources = await this.#factory.resources()
    try {
      await resources.get({ mapping: namespaces, name: namespace })
    } catch (missing) {
      if (isApiError(missing, 'NotFound')) return missing
    }
    return error
  }

  async #listed(collection: Info): Promise<void> {
    const { labelSelector, fieldSelector, chunkSize = 500 } = this.#query
    const resources = await this.#factory.resources()
    let token: string | undefined
    do {
      const selectors = { labelSelector, fieldSelector }
      const page = await resources
        .get(locationOf(collection), { ...selectors, limit: chunkSize, continue: token })
        .catch(error => Promise.reject(selectorError(error, collection, selectors)))
      for (const item of itemsOf(page)) {
        const namespace = metadataText(item, 'namespace')
        this.#infos.push({ ...collection, namespace, name: metadataText(item, 'name'), object: item })
      }
      const { metadata } = page
      token =
        isObject(metadata) && typeof metadata['continue'] === 'string' ? metadata['continue'] : undefined
    } while (token)
  }
}

/** Names the selectors in an error of a list, since they are its most frequent cause. */
export function selectorError(
  error: unknown,
  { mapping }: Info,
  { labelSelector = '', fieldSelector = '' }: Pick<ResourceQuery, 'labelSelector' | 'fieldSelector'>,
): unknown {
  if (!isApiError(error, 'BadRequest') && !isApiError(error, 'NotFound')) return error
  if (labelSelector === '' && fieldSelector === '') return error
  const resource = `${mapping.group}/${mapping.version}, Resource=${mapping.plural}`
  const selectors = `label selector ${quote(labelSelector)}, field selector ${quote(fieldSelector)}`
  const message = `Unable to find ${quote(resource)} that match ${selectors}: ${error.message}`
  return new ApiError({ ...error.status, message }, { cause: error })
}

/** For the objects of files, which the server does not select. */
async function labelTestOf(text: string): Promise<(object: JsonObject | undefined) => boolean> {
  const { parseSelector } = await import('#/api/selectors/parse-selector.ts')
  let selector: ReturnType<typeof parseSelector>
  try {
    selector = parseSelector(text)
  } catch (error) {
    throw new Error(`the provided selector ${quote(text)} is not valid: ${messageOf(error)}`, {
      cause: error,
    })
  }
  return object => selector.matches(object && objectOf(object).metadata?.labels)
}

/** The items of a list, with their type, which lists of some kinds omit. */
export function itemsOf(list: JsonObject): readonly JsonObject[] {
  const items = Array.isArray(list['items']) ? list['items'] : []
  const kind = kindText(list).replace(/List$/, '')
  const type = { apiVersion: list['apiVersion'] ?? 'v1', kind }
  return items.filter(isObject).map(item => (item['kind'] === undefined ? { ...type, ...item } : item))
}

/** As the server stores it; the manifest may have left the namespace out. */
function withNamespace(object: JsonObject, namespace: string): JsonObject {
  if (namespace === '' || metadataText(object, 'namespace') === namespace) return object
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  return { ...object, metadata: { ...metadata, namespace } }
}

/** The mapping of a kind without discovery; it names no resource. */
function localMapping(kind: GroupVersionKind): RestMapping {
  const unknown = { plural: '', singular: '', shortNames: [], categories: [], verbs: [] }
  return { ...kind, ...unknown, scope: 'Namespaced' }
}

export function splitApiVersion(apiVersion: string): readonly [group: string, version: string] {
  const slash = apiVersion.indexOf('/')
  return slash === -1 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)]
}

/** Lists are replaced by their items, to any depth that a parser accepts. */
function flattenLists(documents: readonly ManifestDocument[]): readonly ManifestDocument[] {
  const flat: ManifestDocument[] = []
  const pending = documents.toReversed()
  for (let document = pending.pop(); document !== undefined; document = pending.pop()) {
    const { value, source } = document
    const isList = isObject(value) && kindText(value).endsWith('List') && Array.isArray(value['items'])
    if (isList)
      pending.push(
        ...itemsOf(value)
          .map(item => ({ value: item, source }))
          .reverse(),
      )
    else flat.push(document)
  }
  return flat
}
