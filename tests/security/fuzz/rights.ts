/** The successful responses that each kind of requester may get. */
import type { ApiRequest } from '#/api/transport.ts'
import { mark } from './objects.ts'

const everybody: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

/** Discovery and OpenAPI documents, which contain no objects. */
const discovery = /^\/(?:apis?|openapi)(?:\/|$)/
const discoveryKinds =
  /"kind":\s*"(?:APIVersions|APIGroupList|APIGroup|APIResourceList|APIGroupDiscoveryList)"/
const reviews =
  /^\/apis\/(?:authentication|authorization)\.k8s\.io\/v1(?:alpha1|beta1)?\/+selfsubject(?:access|rules)?reviews\/*$/

/** The reason why the response must not have been given; undefined when it is allowed. */
export function whyUnauthorized(
  who: 'anonymous' | 'nobody' | 'administrator',
  { method, path }: ApiRequest,
  text: string,
): string | undefined {
  if (who === 'administrator') return undefined
  if (text.includes(mark)) return 'the answer has something of an object'
  // RBAC verbs are lower case; the original case of the method does not matter.
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
