// What only a compiler can do, a little of each.
function logged(value: unknown, context: { name: string | symbol }): void {
  context.name;
}
@logged
class Counter {
  @logged accessor count: number = 0;
  constructor(private readonly step: number) {}
  @logged
  next(): number {
    return (this.count += this.step);
  }
}
namespace Shown {
  export const title = (text: string) => <h1 class="title">{text}</h1>;
}
<>
  <Shown.title key="a" />
</>;
