/** What an answer may be that lets somebody see or do something, by who asked. */
import type { ApiRequest } from '#/api/transport.ts'
import { mark } from './objects.ts'

const everybody: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

/** Documents that say what there is, and nothing of it. */
const discovery = /^\/(?:apis?|openapi)(?:\/|$)/
const discoveryKinds =
  /"kind":\s*"(?:APIVersions|APIGroupList|APIGroup|APIResourceList|APIGroupDiscoveryList)"/
const reviews =
  /^\/apis\/(?:authentication|authorization)\.k8s\.io\/v1(?:alpha1|beta1)?\/+selfsubject(?:access|rules)?reviews\/*$/

/** Undefined when it is as it should be. */
export function whyUnauthorized(
  who: 'anonymous' | 'nobody' | 'administrator',
  { method, path }: ApiRequest,
  text: string,
): string | undefined {
  if (who === 'administrator') return undefined
  if (text.includes(mark)) return 'the answer has something of an object'
  // Roles know methods in lower case: how they were written is lost before.
  const isReading = /^(?:get|head)$/i.test(method)
  if (isReading && everybody.has(path)) return undefined
  if (who === 'anonymous') return 'it is for somebody who is known'
  if (isReading && discovery.test(path)) {
    const isDocument =
      text === '' || discoveryKinds.test(text) || path.startsWith('/openapi') || !text.startsWith('{')
    return isDocument ? undefined : 'it is no document'
  }
  return method === 'POST' && reviews.test(decodeURIComponent(path))
    ? undefined
    : 'it is for somebody with more rights'
}
