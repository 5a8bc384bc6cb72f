import type { ReferenceGrant } from '../gateway-api/reference-grant.ts'

export interface CrossReference {
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string }
  readonly to: {
    readonly group: string
    readonly kind: string
    readonly namespace: string
    readonly name: string
  }
}

/** True for a reference within a namespace, and for one that the target namespace allows. */
export type IsPermitted = (reference: CrossReference) => boolean

/** https://gateway-api.sigs.k8s.io/api-types/referencegrant/ */
export function referencePermissions(grants: readonly ReferenceGrant[]): IsPermitted {
  const byNamespace = Map.groupBy(grants, ({ metadata }) => metadata.namespace ?? '')
  return ({ from, to }) => {
    if (from.namespace === to.namespace) return true
    return (byNamespace.get(to.namespace) ?? []).some(({ spec }) => {
      const isFrom = spec.from.some(each => {
        return each.group === from.group && each.kind === from.kind && each.namespace === from.namespace
      })
      return isFrom && spec.to.some(each => isTarget(each, to))
    })
  }
}

function isTarget(
  { group, kind, name }: ReferenceGrant['spec']['to'][number],
  to: CrossReference['to'],
): boolean {
  return group === to.group && kind === to.kind && (name === undefined || name === to.name)
}
