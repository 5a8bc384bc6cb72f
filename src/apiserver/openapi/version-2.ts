/**
 * The OpenAPI v2 (Swagger) document of the whole API. The members of a section are encoded once and shared by all
 * versions of the document, so that publishing a CustomResourceDefinition encodes only its own.
 */
import type { Clock } from '#/platform/platform.ts'
import {
  chunkOf,
  chunkedDocument,
  withoutFirstComma,
  type Chunk,
  type Document,
} from '../discovery/document.ts'
import { shortNameOf } from './definition-names.ts'
import { definitionsFor, type DefinitionOptions } from './definitions.ts'
import { withFreeNames, type OpenApiPart } from './extension-parts.ts'
import { gnosticChunks, memberKinds, type MemberKind } from './gnostic.ts'
import { version2, type JsonSchema } from './json-schema.ts'
import { Members } from './members.ts'
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
  /** Definitions and parameters of Kubernetes, by name; most parts contain them. */
  readonly #shared: Named = { definitions: new Map(), parameters: new Map() }
  /** Lists of names of shared members. There are few, because they follow from scopes and subresources. */
  readonly #nameLists = new Map<string, readonly string[]>()

  constructor(clock: Pick<Clock, 'turn'>) {
    this.#clock = clock
  }

  async json(sources: Version2Sources, options: Version2Options): Promise<Document> {
    const content = await this.#content(sources, options)
    const { info, securityDefinitions, security } = frameOf(options)
    const membersOf = (kind: MemberKind) => withoutFirstComma(content[kind].map(({ json }) => json))
    const tail = `"securityDefinitions":${JSON.stringify(securityDefinitions)},"security":${JSON.stringify(security)}`
    return chunkedDocument('application/json', [
      chunkOf(`{"swagger":"2.0","info":${JSON.stringify(info)},"paths":{`),
      ...membersOf('paths'),
      chunkOf('},"definitions":{'),
      ...membersOf('definitions'),
      chunkOf('},"parameters":{'),
      ...membersOf('parameters'),
      chunkOf(`},${tail}}`),
    ])
  }

  async protobuf(sources: Version2Sources, options: Version2Options): Promise<Document> {
    const content = await this.#content(sources, options)
    const encoded = { paths: [], definitions: [], parameters: [] } as Record<MemberKind, Chunk[]>
    for (const kind of memberKinds) {
      for (const members of content[kind]) {
        if (!members.isGnosticKnown) await this.#clock.turn()
        encoded[kind].push(members.gnostic)
      }
    }
    return chunkedDocument(version2Protobuf, gnosticChunks(frameOf(options), encoded))
  }

  async #content({ sections, extensions }: Version2Sources, options: Version2Options): Promise<Content> {
    const parts: Part[] = []
    for (const section of sections.values()) {
      parts.push(this.#parts.get(section) ?? (await this.#makePart(section, options)))
    }
    const paths = parts.map(part => part.paths)
    const named: Named = {
      definitions: this.#sharedIn('definitions', parts),
      parameters: this.#sharedIn('parameters', parts),
    }
    for (const part of parts) addAll(named.definitions, part.definitions)
    for (const extension of extensions) {
      const added = this.#added(extension, named)
      paths.push(added.paths)
      for (const kind of namedKinds) addAll(named[kind], added[kind])
    }
    return {
      paths: sorted(paths),
      definitions: sorted(named.definitions.values()),
      parameters: sorted(named.parameters.values()),
    }
  }

  async #makePart(section: Section, options: Version2Options): Promise<Part> {
    // The document has many parts, so this yields to the event loop between them.
    await this.#clock.turn()
    const paths = section.paths().toSorted((left, right) => compareText(left.path, right.path))
    const parameters = new SharedParameters()
    const described = paths.map(path => [path.path, describePath(path, parameters)] as const)
    const definitions = definitionsFor(paths, section.resources, { ...options, dialect: version2 })
    const { shared = [], own = [] } = Object.groupBy(Object.entries(definitions), ([name]) =>
      shortNameOf(name) === undefined ? 'own' : 'shared',
    )
    const part: Part = {
      paths: new Members('paths', described),
      definitions: own.map(entry => new Members('definitions', [entry])),
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

  #sharedIn(kind: NamedKind, parts: readonly Part[]): Map<string, Members> {
    const names = new Set([...new Set(parts.map(part => part.shared[kind]))].flat())
    return new Map(Array.from(names, name => [name, this.#shared[kind].get(name)!]))
  }

  /** A part of an extension server is encoded again only if it no longer fits the rest of the document. */
  #added(part: OpenApiPart, named: Named): AddedPart {
    const existing = namedKinds.flatMap(kind => Object.keys(part[kind]).map(name => named[kind].get(name)))
    const known = this.#addedParts.get(part)
    if (known && isFitting(known, existing, named)) return known
    const { paths, ...others } = withFreeNames(part, (kind, name) => named[kind].get(name)?.values()[name])
    const missing = (kind: NamedKind): readonly Members[] =>
      Object.entries(others[kind]).flatMap(entry =>
        named[kind].has(entry[0]) ? [] : new Members(kind, [entry]),
      )
    const added: AddedPart = {
      existing,
      paths: new Members('paths', Object.entries(paths)),
      definitions: missing('definitions'),
      parameters: missing('parameters'),
    }
    this.#addedParts.set(part, added)
    return added
  }
}

const namedKinds = ['definitions', 'parameters'] as const

type NamedKind = (typeof namedKinds)[number]

type Named = Readonly<Record<NamedKind, Map<string, Members>>>

/** Sorted by name. */
type Content = Readonly<Record<MemberKind, readonly Members[]>>

interface Part {
  /** All begin with the path of the group version, so no other path of the document comes between them. */
  readonly paths: Members
  /** Definitions that Kubernetes does not have, one each. */
  readonly definitions: readonly Members[]
  /** Names of shared members. */
  readonly shared: Readonly<Record<NamedKind, readonly string[]>>
}

/** What a part of an extension server adds to the document. */
interface AddedPart extends Readonly<Record<NamedKind, readonly Members[]>> {
  /** The members of the document that had the names of the part. */
  readonly existing: readonly (Members | undefined)[]
  readonly paths: Members
}

function isFitting(part: AddedPart, existing: AddedPart['existing'], named: Named): boolean {
  return (
    part.existing.every((each, index) => each === existing[index]) &&
    namedKinds.every(kind => part[kind].every(({ name }) => !named[kind].has(name)))
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

function addAll(named: Map<string, Members>, added: readonly Members[]): void {
  for (const each of added) named.set(each.name, each)
}

function sorted(members: Iterable<Members>): readonly Members[] {
  return [...members].sort((left, right) => compareText(left.name, right.name))
}

export const bearerToken: JsonSchema = {
  description: 'Bearer Token authentication',
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
}
