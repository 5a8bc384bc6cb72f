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
    reason: 'logs of the machine are not served',
    matches: ({ place, ours }) => ours === undefined && place.startsWith('/paths//logs/'),
  },
  {
    reason: 'the package has no text for fields that are references; that of the type stands there, or none',
    matches: ({ place, ours }, texts) =>
      place.endsWith('/description') &&
      (ours === undefined || texts.has(ours) || (typeof ours === 'string' && scalarText.test(ours))),
  },
  {
    reason: 'a reference has the text of its type, although Kubernetes has none there',
    matches: ({ place }) => undescribed.test(place),
  },
  {
    reason: 'the package has no texts for the values of enumerations',
    matches: ({ place, ours, theirs }) =>
      place.endsWith('/description') &&
      String(ours).includes(enumHead) &&
      withoutValueTexts(theirs) === squeeze(ours),
  },
  {
    reason: 'the package has lost line breaks, and escaped the ends of comments in its texts',
    matches: ({ place, ours, theirs }) => place.endsWith('/description') && squeeze(ours) === squeeze(theirs),
  },
]

const undescribed =
  /\.(?:JSONSchemaProps\/.*\/(?:additional\w+|example|externalDocs|items|not)|IngressRule\/.*\/http)\/[^/]+$/

const scalarText = /^(?:IntOrString is a type|MicroTime is version of|JSON(?:SchemaPropsOr\w+)? represents)/

const enumHead = '\n\nPossible enum values:\n'

function withoutValueTexts(text: unknown): unknown {
  const [before = '', after = ''] = String(text).split(enumHead)
  const values = [...after.matchAll(/^ - (`"[^"]*"`)/gm)].map(([, value]) => ` - ${value}`)
  return squeeze(`${before}${enumHead}${values.join('\n')}`)
}

function squeeze(text: unknown): unknown {
  if (typeof text !== 'string') return text
  return text.replaceAll(/\s/g, '').replaceAll('*_/', '*/').replaceAll('/_*', '/*')
}
