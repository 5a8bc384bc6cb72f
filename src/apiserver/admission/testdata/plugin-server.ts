/** An API server with the plugins under test, and helpers for common requests. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Platform } from '#/platform/platform.ts'
import { startTestServer, type Answer, type AnyObject, type TestServer } from '../../test-server.ts'
import type { PluginContext, PluginFactory } from '../plugin-context.ts'

export interface PluginServer extends TestServer {
  /** Creates an object that must be admitted, and waits until it is in the cache. */
  readonly given: (url: string, object: object) => Promise<Body>
  /** Creates an object; returns `ok`, or the code and message of the rejection. */
  readonly create: (url: string, object: object) => Promise<string>
  /** Creates an object that must be admitted, and returns it. */
  readonly admitted: (url: string, object: object) => Promise<Body>
  /** Sends a merge patch to an object or subresource. */
  readonly patch: (url: string, change: object) => Promise<string>
}

/** A returned object. */
export interface Body {
  readonly kind: string
  readonly metadata: Readonly<Record<string, AnyObject>>
  readonly spec: Readonly<Record<string, AnyObject>>
}

function bodyOf({ body }: Answer): Body {
  return body as unknown as Body
}

export interface PluginServerOptions {
  readonly platform?: Platform
  readonly configuration?: JsonValue
  /** Overrides of the plugins' context. */
  readonly context?: Partial<PluginContext>
}

export async function startWith(
  t: Pick<TestContext, 'after'>,
  make: PluginFactory | readonly PluginFactory[],
  options: PluginServerOptions = {},
): Promise<PluginServer> {
  const factories = Array.isArray(make) ? (make as readonly PluginFactory[]) : [make as PluginFactory]
  const server = await startTestServer(t, options.platform, {
    admission: context =>
      factories.map(factory => factory({ ...context, ...options.context }, options.configuration)),
  })
  const { request } = server
  const given: PluginServer['given'] = async (url, object) => {
    const answer = await request('POST', url, object)
    assert.equal(answer.code, 201, answer.text)
    // A consistent read waits until the cache contains all previous writes.
    await request('GET', '/api/v1/namespaces')
    return bodyOf(answer)
  }
  return {
    ...server,
    given,
    create: async (url, object) => outcome(await request('POST', url, object)),
    admitted: async (url, object) => {
      const answer = await request('POST', url, object)
      assert.equal(answer.code, 201, answer.text)
      return bodyOf(answer)
    },
    patch: async (url, change) =>
      outcome(await request('PATCH', url, change, { 'content-type': 'application/merge-patch+json' })),
  }
}

/** `ok`, or the code and message of the rejection. */
export function outcome({ code, body }: Answer): string {
  return code < 300 ? 'ok' : `${code} ${body.message ?? ''}`
}

/** Texts of the Warning headers of a response. */
export function warningsOf({ headers }: Answer): readonly string[] {
  const { warning = [] } = headers ?? {}
  return [warning].flat().map(text => text.replace(/^299 - "(.*)"$/u, '$1').replaceAll('\\"', '"'))
}

export const pods = '/api/v1/namespaces/default/pods'
export const serviceAccounts = '/api/v1/namespaces/default/serviceaccounts'

/** A pod with one container. */
export function pod(name: string, spec: object = {}, metadata: object = {}): object {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, ...metadata },
    spec: { containers: [container()], ...spec },
  }
}

export function container(fields: object = {}): object {
  return { name: 'a', image: 'nginx', ...fields }
}

export function namespace(name: string, metadata: object = {}): object {
  return { kind: 'Namespace', apiVersion: 'v1', metadata: { name, ...metadata } }
}

export function configMap(name: string): object {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name } }
}

export function account(name: string, fields: object = {}, metadata: object = {}): object {
  return { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name, ...metadata }, ...fields }
}

export function node(name: string, fields: object = {}, metadata: object = {}): object {
  return { kind: 'Node', apiVersion: 'v1', metadata: { name, ...metadata }, ...fields }
}
