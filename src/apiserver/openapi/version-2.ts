/**
 * The OpenAPI v2 (Swagger) document of the whole API. The members of a section are encoded once and shared by all
 * versions of the document, so that publishing a CustomResourceDefinition encodes only its own.
 */
import type { Clock } from '#/platform/platform.ts'
import {
  chunkOf,
  chunkedDocument,
  contentHash,
  withoutFirstComma,
  type Chunk,
  type Document,
} from '../discovery/document.ts'
import { definitionOf, listDefinitionOf, shortNameOf } from './definition-names.ts'
import { definitionsFor, type DefinitionOptions } from './definitions.ts'
import { withFreeNames, type OpenApiPart } from './extension-parts.ts'
import { encodeGnosticMembers, gnosticChunks, memberKinds, type MemberKind } from './gnostic.ts'
import { version2, type JsonSchema } from './json-schema.ts'
import { compareText } from './operation.ts'
import type { Section } from './sections.ts'
import { SharedParameters } from './shared-parameters.ts'
import { describePath } from './version-2-paths.ts'

export interface Version2Options extends Omit<DefinitionOptions, 'dialect' | 'homes'> {
  /** Server version, e.g. `v1.36.4+k8ts.0.1.0`. */
  readonly gitVersion: string
}

export interface Version2Sources {
  readonly sections: ReadonlyMap<string, Section>
  /** Their paths are those of group versions without a section. */
  readonly extensions: readonly OpenApiPart[]
}

export const version2Protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

export class Version2Document {
  readonly #clock: Pick<Clock, 'turn'>
  readonly #parts = new WeakMap<Section, Part>()
  readonly #addedParts = new WeakMap<OpenApiPart, AddedPart>()
  /** Definitions and parameters that are not of a single section, by name; most are Kubernetes'. */
  readonly #shared = { definitions: new Map<string, Members>(), parameters: new Map<string, Members>() }
  /** Lists of names of shared members. There are few, because they follow from scopes and subresources. */
  readonly #nameLists = new Map<string, readonly string[]>()
  /** Of the last document. */
  readonly #sharedMembers: Partial<Record<NamedKind, SharedMembers>> = {}
  readonly #ownOrder = new MemberOrder()

  constructor(clock: Pick<Clock, 'turn'>) {
    this.#clock = clock
  }

  async json(sources: Version2Sources, options: Version2Options): Promise<Document> {
    const { hashes, ...content } = await this.#content(sources, options)
    const { info, securityDefinitions, security } = frameOf(options)
    const membersOf = (kind: MemberKind) => withoutFirstComma(content[kind].map(({ json }) => json.bytes))
    const tail = `"securityDefinitions":${JSON.stringify(securityDefinitions)},"security":${JSON.stringify(security)}`
    const chunks = [
      Buffer.from(`{"swagger":"2.0","info":${JSON.stringify(info)},"paths":{`),
      ...membersOf('paths'),
      Buffer.from('},"definitions":{'),
      ...membersOf('definitions'),
      Buffer.from('},"parameters":{'),
      ...membersOf('parameters'),
      Buffer.from(`},${tail}}`),
    ]
    return chunkedDocument({ mediaType: 'application/json', chunks, hashes })
  }

  async protobuf(sources: Version2Sources, options: Version2Options): Promise<Document> {
    const { hashes, ...content } = await this.#content(sources, options)
    const encoded = { paths: [], definitions: [], parameters: [] } as Record<MemberKind, Uint8Array[]>
    for (const kind of memberKinds) {
      for (const members of content[kind]) {
        if (!members.isGnosticKnown) await this.#clock.turn()
        encoded[kind].push(members.gnostic)
      }
    }
    const document = chunkedDocument({
      mediaType: version2Protobuf,
      chunks: gnosticChunks(frameOf(options), encoded),
      hashes: [version2Protobuf, ...hashes],
    })
    // Only Go clients request it, none of them within the process.
    return { ...document, value: () => undefined }
  }

  async #content({ sections, extensions }: Version2Sources, options: Version2Options): Promise<Content> {
    const parts: Part[] = []
    for (const section of sections.values()) {
      parts.push(this.#parts.get(section) ?? (await this.#makePart(section, options)))
    }
    const paths = parts.map(part => part.paths)
    const shared = {
      definitions: this.#sharedIn('definitions', parts),
      parameters: this.#sharedIn('parameters', parts),
    }
    const own = this.#ownOrder.sort(parts.flatMap(part => part.definitions))
    const named: Record<NamedKind, readonly Members[]> = {
      definitions: sorted([...shared.definitions.members, ...own]),
      parameters: shared.parameters.members,
    }
    const hashes = [JSON.stringify(frameOf(options)), shared.definitions.hash, shared.parameters.hash]
    for (const part of parts) hashes.push(part.hash)
    for (const extension of extensions) {
      const added = this.#added(extension, named)
      paths.push(added.paths)
      hashes.push(added.hash)
      for (const kind of namedKinds) named[kind] = sorted([...named[kind], ...added[kind]])
    }
    return { ...named, paths: sorted(paths), hashes }
  }

  async #makePart(section: Section, options: Version2Options): Promise<Part> {
    // The document has many parts, so this yields to the event loop between them.
    await this.#clock.turn()
    const paths = section.paths().toSorted((left, right) => compareText(left.path, right.path))
    const parameters = new SharedParameters()
    const described = paths.map(path => [path.path, describePath(path, parameters)] as const)
    const definitions = definitionsFor(paths, section.resources, { ...options, dialect: version2 })
    const ownNames = new Set(section.resources.flatMap(each => [definitionOf(each), listDefinitionOf(each)]))
    const { shared = [], own = [] } = Object.groupBy(Object.entries(definitions), ([name]) =>
      ownNames.has(name) && shortNameOf(name) === undefined ? 'own' : 'shared',
    )
    const pathMembers = new Members('paths', described)
    const ownMembers = own.map(entry => new Members('definitions', [entry]))
    const part: Part = {
      paths: pathMembers,
      definitions: ownMembers,
      hash: hashOf([pathMembers, ...ownMembers]),
      shared: {
        definitions: this.#share('definitions', shared),
        parameters: this.#share('parameters', Object.entries(parameters.definitions())),
      },
    }
    this.#parts.set(section, part)
    return part
  }

  #share(kind: NamedKind, entries: readonly (readonly [string, JsonSchema])[]): readonly string[] {
    for (const [name, value] of entries) {
      this.#shared[kind].getOrInsertComputed(name, () => new Members(kind, [[name, value]]))
    }
    const names = entries.map(([name]) => name)
    return this.#nameLists.getOrInsert(names.join(), names)
  }

  /** The same object while the parts have the same lists of names. */
  #sharedIn(kind: NamedKind, parts: readonly Part[]): SharedMembers {
    const lists = new Set(parts.map(part => part.shared[kind]))
    const known = this.#sharedMembers[kind]
    if (known?.lists.symmetricDifference(lists).size === 0) return known
    const names = new Set([...lists].flat())
    const members = sorted(Array.from(names, name => this.#shared[kind].get(name)!))
    return (this.#sharedMembers[kind] = { lists, members, hash: hashOf(members) })
  }

  /** A part of an extension server is encoded again only if it no longer fits the rest of the document. */
  #added(part: OpenApiPart, named: Named): AddedPart {
    const existing = namedKinds.flatMap(kind => Object.keys(part[kind]).map(name => find(named[kind], name)))
    const known = this.#addedParts.get(part)
    if (known && isFitting(known, existing, named)) return known
    const { paths, ...others } = withFreeNames(part, (kind, name) => find(named[kind], name)?.values()[name])
    const missing = (kind: NamedKind): readonly Members[] =>
      Object.entries(others[kind]).flatMap(entry =>
        find(named[kind], entry[0]) ? [] : new Members(kind, [entry]),
      )
    const pathMembers = new Members('paths', Object.entries(paths))
    const [definitions, parameters] = [missing('definitions'), missing('parameters')]
    const hash = hashOf([pathMembers, ...definitions, ...parameters])
    const added: AddedPart = { existing, paths: pathMembers, definitions, parameters, hash }
    this.#addedParts.set(part, added)
    return added
  }
}

/** Consecutive members of the paths, definitions or parameters of a document, encoded once. */
class Members {
  /** Of the first member. */
  readonly name: string
  /** The members, each with a comma before it. */
  readonly json: Chunk
  readonly #kind: MemberKind
  #gnostic: Uint8Array | undefined

  constructor(kind: MemberKind, entries: readonly (readonly [name: string, value: unknown])[]) {
    this.#kind = kind
    this.name = entries[0]?.[0] ?? ''
    this.json = chunkOf(
      entries.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join(''),
    )
  }

  /** By name. */
  values(): JsonSchema {
    return JSON.parse(`{${Buffer.from(this.json.bytes).toString().slice(1)}}`) as JsonSchema
  }

  get isGnosticKnown(): boolean {
    return this.#gnostic !== undefined
  }

  /** The members in protobuf, which few clients request: encoded on first use. */
  get gnostic(): Uint8Array {
    this.#gnostic ??= encodeGnosticMembers(this.#kind, this.values())
    return this.#gnostic
  }
}

const namedKinds = ['definitions', 'parameters'] as const

type NamedKind = (typeof namedKinds)[number]

/** Members are sorted by name. */
interface Content extends Readonly<Record<MemberKind, readonly Members[]>> {
  /** They identify the content together. */
  readonly hashes: readonly string[]
}

type Named = Pick<Content, NamedKind>

interface SharedMembers {
  readonly lists: ReadonlySet<readonly string[]>
  /** Sorted by name. */
  readonly members: readonly Members[]
  readonly hash: string
}

interface Part {
  /** All begin with the path of the group version, so no other path of the document comes between them. */
  readonly paths: Members
  /** Definitions of the resources of the section, one each. No other part has one of the same name. */
  readonly definitions: readonly Members[]
  /** Of all members but the shared ones. */
  readonly hash: string
  /** Names of shared members. */
  readonly shared: Readonly<Record<NamedKind, readonly string[]>>
}

/** What a part of an extension server adds to the document. */
interface AddedPart extends Readonly<Record<NamedKind, readonly Members[]>> {
  /** The members of the document that had the names of the part. */
  readonly existing: readonly (Members | undefined)[]
  readonly paths: Members
  readonly hash: string
}

function isFitting(part: AddedPart, existing: AddedPart['existing'], named: Named): boolean {
  return (
    part.existing.every((each, index) => each === existing[index]) &&
    namedKinds.every(kind => part[kind].every(({ name }) => !find(named[kind], name)))
  )
}

function frameOf({ gitVersion }: Version2Options) {
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: gitVersion },
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  }
}

/** Sorts lists of which each differs little from the one before. */
class MemberOrder {
  #last: readonly Members[] = []

  sort(members: readonly Members[]): readonly Members[] {
    const added = new Set(members)
    const kept = this.#last.filter(each => added.delete(each))
    this.#last = sorted([...kept, ...added])
    return this.#last
  }
}

function hashOf(members: readonly Members[]): string {
  return contentHash(members.map(({ json }) => json.hash).join())
}

/** Takes one pass for a list that is almost sorted. */
function sorted(members: readonly Members[]): readonly Members[] {
  return members.toSorted((left, right) => compareText(left.name, right.name))
}

function find(members: readonly Members[], name: string): Members | undefined {
  let [low, high] = [0, members.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (members[middle]!.name < name) low = middle + 1
    else high = middle
  }
  return members[low]?.name === name ? members[low] : undefined
}

export const bearerToken: JsonSchema = {
  description: 'Bearer Token authentication',
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
}
