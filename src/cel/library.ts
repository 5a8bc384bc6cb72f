/**
 * The CEL libraries that Kubernetes v1.36 adds in all places:
 * https://kubernetes.io/docs/reference/using-api/cel/. The authorizer functions are always declared, but only
 * some places have the `authorizer` variable. JSON patch constructors and bindings are added where they are
 * supported (`json-patch.ts`, `bindings.ts`).
 */
import { authorizerLibrary } from './authorizer.ts'
import type { Library } from './function.ts'
import { cidrLibrary } from './library/cidr.ts'
import { formatLibrary } from './library/format.ts'
import { ipLibrary } from './library/ip.ts'
import { listTransformLibrary } from './library/list-transforms.ts'
import { listLibrary } from './library/lists.ts'
import { regularExpressionLibrary } from './library/regular-expressions.ts'
import { setLibrary } from './library/sets.ts'
import { urlLibrary } from './library/url.ts'
import { quantityLibrary } from './quantity.ts'
import { semanticVersionLibrary } from './semantic-version.ts'

export const kubernetesLibraries: readonly Library[] = [
  authorizerLibrary,
  cidrLibrary,
  formatLibrary,
  ipLibrary,
  listLibrary,
  listTransformLibrary,
  quantityLibrary,
  regularExpressionLibrary,
  semanticVersionLibrary,
  setLibrary,
  urlLibrary,
]
