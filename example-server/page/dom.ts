/** The element of the page's HTML with this id. */
export function byId<E extends HTMLElement>(id: string, type: new () => E): E {
  const found = document.getElementById(id)
  if (!(found instanceof type)) throw new Error(`#${id} is no ${type.name}`)
  return found
}

/** A new element. Whatever is put into one is text, never HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  if (className !== '') made.className = className
  made.append(...children)
  return made
}

/** A button that submits nothing. */
export function button(label: string, className: string, onClick: () => void): HTMLButtonElement {
  const made = element('button', className, label)
  made.type = 'button'
  made.addEventListener('click', onClick)
  return made
}

/** Changes a text only when it is another: assistive technology and selections notice every change. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text
}
