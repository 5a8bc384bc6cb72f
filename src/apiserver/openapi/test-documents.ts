/** OpenAPI documents for tests: of the built-in resources, and of custom ones. */
import assert from 'node:assert/strict'
import { defaultResources } from '#/api/builtin.ts'
import type { Resource } from '#/api/resource.ts'
import type { Field, Schema, StructSchema } from '#/api/schema.ts'
import { Scheme } from '#/api/scheme.ts'
import { OpenApi, type OpenApiOptions } from '../openapi.ts'
import type { ApiResponse } from '../request.ts'
import { testRequest, type TestRequestOptions } from '../test-request.ts'

export const options: OpenApiOptions = {
  build: { version: '0.1.0' },
  clock: { turn: () => Promise.resolve() },
}
export const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const openApi = new OpenApi(new Scheme(defaultResources()), options)

interface Asked extends TestRequestOptions {
  readonly from?: OpenApi
}

export function ask(
  url: string,
  { from = openApi, ...options }: Asked = {},
): Promise<ApiResponse> | undefined {
  return from.handle({ ...testRequest(url, options), receivedMs: Date.UTC(2026, 0, 1) })
}

export type Facts = Readonly<Record<string, unknown>>

export async function bytesOf(url: string, asked: Asked = {}): Promise<Buffer> {
  const response = await ask(url, asked)
  assert.ok(response?.body?.type === 'value', url)
  return Buffer.concat(response.body.bytes())
}

/** A value in a document, by path of keys. */
export async function part(url: string, keys: readonly string[], asked: Asked = {}): Promise<unknown> {
  let value = JSON.parse((await bytesOf(url, asked)).toString()) as unknown
  for (const key of keys) value = (value as Facts | undefined)?.[key]
  return value
}

export function struct(fields: Readonly<Record<string, Schema | Field>>): StructSchema {
  const entries = Object.entries(fields).map(([name, each]): [string, Field] => [
    name,
    'schema' in each ? each : { schema: each, required: false },
  ])
  return { type: 'struct', name: '', fields: new Map(entries), atomic: false, preserveUnknownFields: false }
}

export function customResource(schema: StructSchema, plural = 'crontabs'): Resource {
  const home = { group: 'stable.example.com', version: 'v1' }
  return {
    ...home,
    kind: 'CronTab',
    listKind: 'CronTabList',
    plural,
    singular: 'crontab',
    scope: 'Namespaced',
    shortNames: [],
    categories: [],
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    schema,
    subresources: new Map(),
    storage: home,
  }
}

/** The definition of the custom resource. */
export const cronTab = 'com.example.stable.v1.CronTab'
