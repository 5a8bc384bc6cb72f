/** The table of `/debug/api_priority_and_fairness/dump_priority_levels`. */
export interface PriorityLevels {
  /** Titles of the columns after the name. */
  readonly titles: readonly string[]
  readonly levels: readonly PriorityLevel[]
}

export interface PriorityLevel {
  readonly name: string
  /** As many as titles. */
  readonly cells: readonly string[]
  /** Number of requests since the start that were executed. */
  readonly dispatched: number
}

const levelsMax = 1_000

/** Reads comma-separated columns that are padded with spaces. */
export function parsePriorityLevels(text: string): PriorityLevels {
  const [head = [], ...rows] = text
    .split('\n')
    .filter(line => line.trim() !== '')
    .slice(0, levelsMax)
    .map(line => line.split(',').map(cell => cell.trim()))
  const [, ...names] = head
  const levels = rows.map(([name = '', ...cells]): PriorityLevel => {
    const dispatched = Number(cells[names.indexOf('DispatchedRequests')])
    return {
      name,
      cells: names.map((_, index) => formatCell(cells[index])),
      dispatched: Number.isFinite(dispatched) ? dispatched : 0,
    }
  })
  return { titles: names.map(columnTitle), levels }
}

function formatCell(text = ''): string {
  if (text === 'true') return 'yes'
  if (text === 'false') return 'no'
  return /^\d+$/.test(text) ? Number(text).toLocaleString('en') : text
}

/** `ActiveQueues` as `Active queues`, `DispatchedRequests` as `Dispatched`. */
function columnTitle(name: string): string {
  const words = name
    .replace(/Requests$/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replace('timedout', 'timed out')
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}
