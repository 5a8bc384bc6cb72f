/** URLs: `url("https://example.com/path?key=value")`. */
import { checkUri, hostnameOf, parseUri, portOf, queryOf, UriError, type Uri } from '#/api/text/uri.ts'
import { sameSize } from '../estimate.ts'
import { Fault } from '../fault.ts'
import { globalFunction, method, type Library } from '../function.ts'
import { boolType, listOf, mapOf, opaque, stringType } from '../type.ts'
import { list, map, OpaqueValue, type MapValue } from '../value.ts'
import { byStringTraversal, stringTraversalCost } from './costs.ts'

class UrlValue extends OpaqueValue {
  override readonly typeName = 'kubernetes.URL'
  readonly uri: Uri

  constructor(uri: Uri) {
    super()
    this.uri = uri
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && JSON.stringify(this.uri) === JSON.stringify(other.uri)
  }
}

const urlType = opaque<UrlValue>('kubernetes.URL')

export const urlLibrary: Library = {
  overloads: [
    globalFunction('url', [stringType], urlType, toUrl, { ...byStringTraversal, resultSize: sameSize }),
    globalFunction('isURL', [stringType], boolType, text => checkUri(text) === undefined, {
      cost: stringTraversalCost,
    }),
    method('getScheme', [urlType], stringType, ({ uri }) => uri.scheme),
    method('getHost', [urlType], stringType, ({ uri }) => uri.host),
    method('getHostname', [urlType], stringType, ({ uri }) => hostnameOf(uri)),
    method('getPort', [urlType], stringType, ({ uri }) => portOf(uri)),
    method('getEscapedPath', [urlType], stringType, ({ uri }) => uri.path),
    method('getQuery', [urlType], mapOf(stringType, listOf(stringType)), ({ uri }) => queryMap(uri)),
  ],
}

function toUrl(text: string): UrlValue {
  try {
    return new UrlValue(parseUri(text))
  } catch (error) {
    if (!(error instanceof UriError)) throw error
    throw new Fault(`URL parse error during conversion from string: ${error.message}`)
  }
}

function queryMap(uri: Uri): MapValue {
  return map([...queryOf(uri)].map(([key, values]) => [key, list(values)]))
}
