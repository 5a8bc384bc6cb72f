/** Intentional differences from the documents of a real API server, with the reasons. */
import type { Difference } from './compare-values.ts'

export interface Known {
  readonly reason: string
  /** `texts` are the descriptions of all types served here. */
  readonly matches: (difference: Difference, texts: ReadonlySet<unknown>) => boolean
}

export const knownDifferences: readonly Known[] = [
  {
    reason: 'the version of the server is its own',
    matches: ({ place }) => place === '/info/version',
  },
  {
    reason: 'logs of the machine are not served, and there is no issuer of service account tokens yet',
    matches: ({ place, ours }) =>
      ours === undefined && /^\/paths\/\/(?:logs|openid\/v1\/jwks|\.well-known\/)/.test(place),
  },
  {
    reason: 'the package has no text for fields that are references; that of the type stands there, or none',
    matches: ({ place, ours }, texts) =>
      place.endsWith('/description') &&
      (ours === undefined || texts.has(ours) || (typeof ours === 'string' && scalarText.test(ours))),
  },
  {
    reason: 'the package has lost line breaks, and escaped the ends of comments in its texts',
    matches: ({ place, ours, theirs }) => place.endsWith('/description') && squeeze(ours) === squeeze(theirs),
  },
  {
    reason: 'a list type on what is no list, and granular maps, which all maps are, say nothing',
    matches: ({ place, ours, theirs }) =>
      ours === undefined &&
      (place.endsWith('/caBundle/x-kubernetes-list-type') ||
        (place.endsWith('/x-kubernetes-map-type') && theirs === 'granular')),
  },
  {
    reason: 'deleting a namespace answers with it, in Kubernetes too, whose document says otherwise',
    matches: ({ place }) => place.startsWith('/paths//api/v1/namespaces/{name}/delete/responses/'),
  },
  {
    reason: 'kinds are stored in their most stable version; Kubernetes stores some in an older one',
    matches: ({ place }) => storedElsewhere.test(place),
  },
  {
    reason: 'the package knows no defaults',
    matches: ({ place, ours }) => place.endsWith('/default') && ours === undefined,
  },
]

const scalarText = /^(?:IntOrString is a type|MicroTime is version of|JSON(?:SchemaPropsOr\w+)? represents)/

/** Custom resource definitions, mutating admission policies with their bindings, and device taint rules. */
const storedElsewhere =
  /^\/apis\/(?:admissionregistration|apiextensions|resource)\.k8s\.io\/.*\/[01]\/storageVersionHash$/

function squeeze(text: unknown): unknown {
  if (typeof text !== 'string') return text
  return text.replaceAll(/\s/g, '').replaceAll('*_/', '*/').replaceAll('/_*', '/*')
}
