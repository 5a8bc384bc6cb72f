/** A LabelSelector; services and replication controllers have a plain map of labels instead. */
export interface LabelSelectorFields {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

/** As in the query parameter `labelSelector`; empty if it selects everything. */
export function formatSelector(
  selector: LabelSelectorFields | Readonly<Record<string, unknown>> = {},
): string {
  if (!('matchLabels' in selector || 'matchExpressions' in selector)) {
    return formatLabels(selector as Readonly<Record<string, unknown>>)
  }
  const { matchLabels = {}, matchExpressions = [] } = selector as LabelSelectorFields
  const requirements = matchExpressions.map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'In':
        return `${key} in (${values.join(',')})`
      case 'NotIn':
        return `${key} notin (${values.join(',')})`
      case 'Exists':
        return key
      default:
        return `!${key}`
    }
  })
  return [formatLabels(matchLabels), ...requirements].filter(Boolean).join(',')
}

function formatLabels(labels: Readonly<Record<string, unknown>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(',')
}
