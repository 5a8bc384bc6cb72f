/**
 * What Kubernetes v1.36 adds to the language wherever it evaluates expressions:
 * https://kubernetes.io/docs/reference/using-api/cel/. The functions of an authorizer are there always, but
 * only some places have the variable to call them on. Constructors of JSON patches and bindings are for the
 * places that have them (`json-patch.ts`, `bindings.ts`).
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
