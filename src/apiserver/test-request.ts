import assert from 'node:assert/strict'
import type { ApiRequest } from './request.ts'
import { requestInfo, type RequestInfo } from './request-info.ts'

export interface TestRequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A request without a body, for a handler called without a server. */
export function testRequest(
  url: string,
  { method = 'GET', headers = {} }: TestRequestOptions,
): { readonly request: ApiRequest; readonly info: RequestInfo } {
  const [path = '', search] = url.split('?')
  const query = new URLSearchParams(search)
  const request: ApiRequest = {
    method,
    path,
    query,
    headers,
    body: { bytes: () => Promise.resolve(new Uint8Array()) },
    signal: new AbortController().signal,
    peer: { address: '' },
  }
  const info = requestInfo(method, path, query)
  assert.ok(info)
  return { request, info }
}
