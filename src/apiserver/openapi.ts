/**
 * OpenAPI documents for `kubectl explain`, client-side validation and client generators: `/openapi/v2` as one
 * document, `/openapi/v3` as one document per group version. Both are generated from the scheme on first use
 * and cached until it changes; then only what changed is generated again. The schemas of extension servers are
 * added; their v3 documents are served by the aggregator.
 *
 * Version 2 has a protobuf form, which Go clients require; version 3 is JSON only.
 */
import { loadDocumentation } from '#/api/documentation.ts'
import { apiError, notAcceptable } from '#/api/errors.ts'
import type { Scheme } from '#/api/scheme.ts'
import type { Clock } from '#/platform/platform.ts'
import { DerivedCache } from './discovery/derived-cache.ts'
import { documentResponse, jsonDocument, listDocument, type Document } from './discovery/document.ts'
import { gitVersion, type Build } from './discovery/server-version.ts'
import { acceptedRanges } from './negotiation.ts'
import type { AuthoredSchema } from './openapi/custom-schemas.ts'
import type { OpenApiPart } from './openapi/extension-parts.ts'
import { indexEntry, sectionUrl, SectionDocuments } from './openapi/section-documents.ts'
import { sectionsOf, type Section } from './openapi/sections.ts'
import { Version2Document, version2Protobuf } from './openapi/version-2.ts'
import { openApiVersion3 } from './openapi/version-3.ts'
import type { ApiRequest, ApiResponse, RequestContext } from './request.ts'

export interface OpenApiOptions {
  readonly build: Build
  readonly clock: Pick<Clock, 'turn'>
  /** Original schemas of custom resources; without it they are derived from the structural schema. */
  readonly authoredSchema?: AuthoredSchema
  /** Returns true if the issuer of service account tokens is discoverable, which is constant. */
  readonly isIssuerServed?: () => boolean
  /** Of the aggregator. */
  readonly aggregatedSchemas?: () => AggregatedSchemas
}

/** The part of the documents that extension servers provide. A new object after each change. */
export interface AggregatedSchemas {
  /** URLs of OpenAPI v3 documents on this server, by their names; undefined for a group version without one. */
  readonly version3: ReadonlyMap<string, string | undefined>
  readonly version2: readonly OpenApiPart[]
}

const noAggregatedSchemas: AggregatedSchemas = { version3: new Map(), version2: [] }

export class OpenApi {
  readonly #options: OpenApiOptions
  readonly #scheme: Scheme
  readonly #documents: DerivedCache<Promise<Document>>
  readonly #sections: DerivedCache<ReadonlyMap<string, Section>>
  readonly #sectionDocuments: SectionDocuments
  readonly #version2Document: Version2Document

  constructor(scheme: Scheme, options: OpenApiOptions) {
    this.#options = options
    this.#scheme = scheme
    const sources = (): readonly unknown[] => [scheme.groups(), this.#aggregatedSchemas()]
    this.#documents = new DerivedCache(sources)
    this.#sections = new DerivedCache(sources)
    this.#sectionDocuments = new SectionDocuments(section => this.#makeSection(section))
    this.#version2Document = new Version2Document(options.clock)
  }

  /** Undefined for other paths. Rejects with ApiError 405 and 406. */
  handle({ request, info, receivedMs }: HandledContext): Promise<ApiResponse> | undefined {
    if (info.isResource || !info.path.startsWith('/openapi/')) return undefined
    const { path } = info
    if (path === '/openapi/v2') return this.#answerVersion2(request)
    if (path === '/openapi/v3') return this.#answerIndex(request)
    if (!path.startsWith('/openapi/v3/')) return undefined
    const section = this.#allSections().get(path.slice('/openapi/v3/'.length))
    return section ? this.#answerSection(request, section, receivedMs) : Promise.resolve({ status: 404 })
  }

  async #answerVersion2(request: ApiRequest): Promise<ApiResponse> {
    checkMethod(request)
    if (formOf(request, version2Forms) === undefined) return { status: 406 }
    const document = await this.#version2(request)
    return documentResponse(request, document, { vary: 'Accept-Encoding, Accept' })
  }

  async #answerIndex(request: ApiRequest): Promise<ApiResponse> {
    checkMethod(request)
    return documentResponse(request, await this.#index())
  }

  /** With the hash from the index, the document is immutable and can be cached. */
  async #answerSection(request: ApiRequest, section: Section, nowMs: number): Promise<ApiResponse> {
    checkMethod(request)
    choose(request, version3Forms)
    const document = await this.#sectionDocuments.document(section)
    const hash = request.query.get('hash')
    if (hash === null || hash === '') return documentResponse(request, document)
    if (hash !== document.hash) {
      return { status: 301, headers: { location: sectionUrl(section, document.hash), vary: 'Accept' } }
    }
    const expires = new Date(nowMs + yearMs).toUTCString()
    return documentResponse(request, document, { 'cache-control': 'public, immutable', expires })
  }

  #version2(request: ApiRequest): Promise<Document> {
    const form = choose(request, version2Forms)
    const sources = { sections: this.#allSections(), extensions: this.#aggregatedSchemas().version2 }
    return this.#documents.get(`v2 ${form}`, async () =>
      this.#version2Document[form](sources, await this.#documentOptions()),
    )
  }

  #index(): Promise<Document> {
    const { version3 } = this.#aggregatedSchemas()
    return this.#documents.get('v3', async () => {
      const own = await this.#sectionDocuments.indexEntries(this.#allSections().values())
      const others = Array.from(version3, ([name, url]) => (url === undefined ? [] : indexEntry(name, url)))
      return listDocument({
        mediaType: 'application/json',
        head: '{"paths":{',
        items: [...own, ...others.flat()],
        tail: '}}',
      })
    })
  }

  #allSections(): ReadonlyMap<string, Section> {
    return this.#sections.get('all', () =>
      sectionsOf(this.#scheme.groups(), {
        // Those that an extension server serves.
        excluded: this.#aggregatedSchemas().version3,
        isIssuerServed: this.#options.isIssuerServed?.() === true,
      }),
    )
  }

  #aggregatedSchemas(): AggregatedSchemas {
    return this.#options.aggregatedSchemas?.() ?? noAggregatedSchemas
  }

  async #makeSection(section: Section): Promise<Document> {
    const options = await this.#documentOptions()
    // An index consists of many documents, so this yields to the event loop between them.
    await this.#options.clock.turn()
    return jsonDocument(openApiVersion3({ ...options, ...section, paths: section.paths() }))
  }

  async #documentOptions() {
    const { build, authoredSchema = () => undefined } = this.#options
    return { documentation: await loadDocumentation(), gitVersion: gitVersion(build), authoredSchema }
  }
}

type HandledContext = Pick<RequestContext, 'request' | 'info' | 'receivedMs'>

/** Supported media types; the first is the default. */
const version2Forms: ReadonlyMap<string, 'json' | 'protobuf'> = new Map([
  ['application/json', 'json'],
  ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 'protobuf'],
  [version2Protobuf, 'protobuf'],
])

const version3Forms: ReadonlyMap<string, 'json'> = new Map([['application/json', 'json']])

const yearMs = 365 * 86_400_000

function choose<T extends string>(request: ApiRequest, forms: ReadonlyMap<string, T>): T {
  const form = formOf(request, forms)
  if (form === undefined) throw notAcceptable([...forms.keys()])
  return form
}

function formOf<T extends string>({ headers }: ApiRequest, forms: ReadonlyMap<string, T>): T | undefined {
  for (const { name } of acceptedRanges(headers['accept'] || '*/*')) {
    const isAny = name === '*/*' || name === 'application/*'
    const form = isAny ? [...forms.values()][0] : forms.get(name)
    if (form !== undefined) return form
  }
  return undefined
}

function checkMethod({ method }: ApiRequest): void {
  if (method === 'GET' || method === 'HEAD') return
  throw apiError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}
