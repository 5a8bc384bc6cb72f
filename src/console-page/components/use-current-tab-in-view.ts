import { useLayoutEffect } from 'preact/hooks'

/** Scrolls a list of tabs to the current one, where the page is too narrow for all. */
export function useCurrentTabInView(
  list: { readonly current: HTMLElement | null },
  current: string | undefined,
): void {
  useLayoutEffect(() => {
    const element = list.current
    if (element === null) return undefined
    const show = (): void => {
      const tab = element.querySelector<HTMLElement>('[aria-selected=true], [aria-current=page]')
      if (tab === null) return
      const { left, width } = tab.getBoundingClientRect()
      const start = left - element.getBoundingClientRect().left + element.scrollLeft
      element.scrollLeft = start - (element.clientWidth - width) / 2
    }
    show()
    const observer = new ResizeObserver(show)
    observer.observe(element)
    return () => observer.disconnect()
  }, [current])
}
