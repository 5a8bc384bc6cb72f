import type { JSX } from 'preact'

/** Outlines on a grid of 24 units, drawn for the console. */
const outlines = {
  alert: 'M12 4 2.5 20h19zM12 10v4.5M12 17.3v.2',
  arrow: 'm9 6 6 6-6 6',
  back: 'M19 12H5m6-6-6 6 6 6',
  box: 'M12 3 4 7.2v9.6L12 21l8-4.2V7.2zM4 7.2l8 4.2 8-4.2M12 11.4V21',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  clock: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 7.5V12l3 2',
  close: 'm6 6 12 12M18 6 6 18',
  config: 'M4 7h9M17 7h3M4 17h3M11 17h9M13 4.8v4.4h4V4.8zM7 14.8v4.4h4v-4.4z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  custom: 'M4 4h7v7H4zM13 13h7v7h-7zM16.5 3.5v7M13 7h7M4 16.5h7',
  disk: joined(
    'M5 6.5C5 5 8 4 12 4s7 1 7 2.5v11c0 1.5-3 2.5-7 2.5s-7-1-7-2.5zM5 6.5C5 8 8 9 12 9s7-1 7-2.5',
    'M5 12c0 1.5 3 2.5 7 2.5s7-1 7-2.5',
  ),
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  event: 'M6 16v-5a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4',
  exit: 'M14 8V4.5H4.5v15H14V16M9.5 12h11M17 8.5l3.5 3.5-3.5 3.5',
  filter: 'M4 5h16l-6 7.5V19l-4-2v-4.5z',
  gauge: 'M4 17a8.5 8.5 0 1 1 16 0M12 15l4-5',
  history: 'M4 12a8 8 0 1 0 2.6-5.9L4 8.5M4 4v4.5h4.5M12 8v4.5l3 1.7',
  key: 'M14.5 4a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM10.3 13 4 19.5V21h3v-2h2v-2h2l1-2M15.8 8.2h.1',
  logs: 'M5 6h14M5 10h10M5 14h14M5 18h7',
  menu: 'M4 7h16M4 12h16M4 17h16',
  moon: 'M19.5 14A8 8 0 0 1 10 4.5a8 8 0 1 0 9.5 9.5Z',
  namespace: 'M8 4H4v16h4M16 4h4v16h-4M9 12h6',
  network: joined(
    'M12 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM5.5 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z',
    'M18.5 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM11 8l-4.5 8M13 8l4.5 8M8 18h8',
  ),
  node: 'M4 4.5h16v6H4zM4 13.5h16v6H4zM7.5 7.5h.1M7.5 16.5h.1',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4.5v15l12-7.5z',
  plus: 'M12 5v14M5 12h14',
  question: joined(
    'M9 9.2a3 3 0 1 1 4.2 2.7c-.8.4-1.2 1-1.2 2v.3M12 17.3v.2',
    'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z',
  ),
  refresh: 'M20 5v5h-5M4 19v-5h5M5.5 9A7.5 7.5 0 0 1 19 8l1 2M18.5 15A7.5 7.5 0 0 1 5 16l-1-2',
  scheduler: 'M5 5h6v6H5zM13 13h6v6h-6zM8 14v3h2.5M16 10V7h-2.5',
  search: 'M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12ZM15 15l5 5',
  sun: joined(
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4',
    'M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4',
  ),
  terminal: 'M4 5h16v14H4zM7.5 9.5l3 2.5-3 2.5M12.5 15h4',
  topology: 'M9 3.5h6v5H9zM3.5 15.5h6v5h-6zM14.5 15.5h6v5h-6zM12 8.5V12M6.5 15.5V12h11v3.5',
  trash: 'M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13M10.5 10.5v6M13.5 10.5v6',
  workload: 'M12 3.5 4.5 7.7v8.6l7.5 4.2 7.5-4.2V7.7zM12 8.5 8.5 10.5v3.8l3.5 2 3.5-2v-3.8z',
} as const

function joined(...parts: readonly string[]): string {
  return parts.join('')
}

export type IconName = keyof typeof outlines

/** Decoration beside a text, or in an element with a label of its own. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={outlines[name]} />
    </svg>
  )
}
