/** The documents that the API server returns to a client. */
import { builtinResources, defaultResources } from '#/api/builtin.ts'
import { Scheme } from '#/api/scheme.ts'
import { Discovery } from '#/apiserver/discovery.ts'
import { OpenApi } from '#/apiserver/openapi.ts'
import type { ApiRequest } from '#/apiserver/request.ts'

export type Get = (path: string, accept?: string) => Promise<unknown>

/** With the versions that are enabled by default, or with all built-in ones. */
export function served(which: 'all' | 'default'): Get {
  const scheme = new Scheme(which === 'all' ? builtinResources() : defaultResources())
  const build = { version: '0.0.0' }
  const discovery = new Discovery(scheme, { build, serverAddress: '10.0.0.1:6443' })
  const openApi = new OpenApi(scheme, {
    build,
    clock: { turn: () => Promise.resolve() },
    isIssuerServed: () => true,
  })
  return async (path, accept) => {
    const request = requestFor(path, accept)
    const context = { request, info: { isResource: false, verb: 'get', path } as const, receivedMs: 0 }
    const response = discovery.handle(context) ?? (await openApi.handle(context))
    if (response?.body?.type !== 'value') return undefined
    return JSON.parse(Buffer.concat(response.body.bytes()).toString()) as unknown
  }
}

function requestFor(path: string, accept: string | undefined): ApiRequest {
  return {
    method: 'GET',
    path,
    query: new URLSearchParams(),
    headers: accept === undefined ? {} : { accept },
    body: { bytes: () => Promise.resolve(new Uint8Array()) },
    signal: new AbortController().signal,
    peer: { address: '' },
  }
}
